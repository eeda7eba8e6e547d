/*
 * timelike.c
 *		Values that look like dates or times.
 *
 * 2025-01-28T12:00:00Z, 2025/01, 2025W05, 2025-Q1, 20250128, sales-2025-01.  A text is in any
 * encoding that has ASCII in it, and need not end with a zero byte.
 */
#include "postgres.h"

#include <math.h>

#include "timelike.h"

/* Most digits that milliseconds of this century have. */
#define EPOCH_DIGITS		13

static bool
digits(const char *text, size_t len, size_t at, size_t n)
{
	if (at + n > len)
		return false;
	for (size_t i = at; i < at + n; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return true;
}

/* Two digits, from 01 to a greatest number. */
static bool
is_part(const char *text, size_t len, size_t at, int greatest)
{
	int			number;

	if (!digits(text, len, at, 2))
		return false;
	number = (text[at] - '0') * 10 + text[at + 1] - '0';
	return number >= 1 && number <= greatest;
}

static bool
ends(const char *text, size_t len, size_t at)
{
	return at == len || !digits(text, len, at, 1);
}

/* W05, W053 or Q1, with no more digits. */
static bool
is_week_or_quarter(const char *text, size_t len, size_t at)
{
	if (at >= len)
		return false;
	if (text[at] == 'W' && digits(text, len, at + 1, 2))
		return ends(text, len, at + 3) || ends(text, len, at + 4);
	return text[at] == 'Q' && digits(text, len, at + 1, 1) && text[at + 1] >= '1' && text[at + 1] <= '4' && ends(text, len, at + 2);
}

/* 01, 0128, 012812, 01281200 or 0128120059, with no more digits: month, day, time of day. */
static bool
is_compact(const char *text, size_t len, size_t at)
{
	if (!is_part(text, len, at, 12))
		return false;
	if (ends(text, len, at + 2))
		return true;
	if (!is_part(text, len, at + 2, 31))
		return false;
	for (int i = 0; i <= 3; i++)
		if (digits(text, len, at + 4, 2 * i) && ends(text, len, at + 4 + 2 * i))
			return true;
	return false;
}

/* Whether a date begins at a place. */
static bool
is_date(const char *text, size_t len, size_t at)
{
	size_t		after = at + 4;

	if (!digits(text, len, at, 4) || (at > 0 && digits(text, len, at - 1, 1)) || after == len ||
		(strncmp(text + at, "19", 2) != 0 && strncmp(text + at, "20", 2) != 0))
		return false;
	if (strchr("-/._", text[after]) && is_part(text, len, after + 1, 12) && ends(text, len, after + 3))
		return true;
	return is_compact(text, len, after) || is_week_or_quarter(text, len, text[after] == '-' ? after + 1 : after);
}

bool
TimeLikeNumber(double number)
{
	const double from = 946684800;	/* 2000 */
	const double to = 4102444800;	/* 2100 */
	char		text[32];

	if ((number >= from && number < to) || (number >= from * 1000 && number < to * 1000))
		return true;
	if (number != rint(number) || number < 190001 || number > 20991231235959.0)
		return false;
	snprintf(text, sizeof(text), "%.0f", number);
	return is_date(text, strlen(text), 0);
}

bool
TimeLikeText(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at++)
		if (is_date(text, len, at))
			return true;
	return len > 0 && len <= EPOCH_DIGITS && digits(text, len, 0, len) && TimeLikeNumber(atof(pnstrdup(text, len)));
}
