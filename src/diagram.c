/*
 * diagram.c
 *		A picture of a container: its physical and logical partitions, as SVG.
 *
 * Each leaf is a box of the same size, filled from the bottom in proportion to
 * its bytes; so the largest leaf is full, and areas can be compared over the
 * whole picture.  What fills it is divided among its largest keys, and one box
 * for the rest.  Where a level is divided by the next one, a frame holds the
 * leaves.  Boxes stand in the order of the hash space, in rows.
 *
 * All text goes through put_text or put_title, which escape it.
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "contents.h"

#define WIDTH				1200
#define MARGIN				16
#define GAP					4
#define PADDING				4		/* inside a frame */
#define HEADER				64
#define LEGEND				84

/* The size of boxes for so many leaves. */
typedef struct Scale
{
	int			leaves;			/* at most */
	int			columns;		/* boxes in a row */
	int			height;			/* of a box */
	int			font;			/* size of its text */
	int			parts[MAX_LEVELS];	/* boxes for keys of each level in one of the level above */
} Scale;

static const Scale scales[] = {
	{16, 4, 150, 12, {12, 8, 4}}, {64, 8, 104, 11, {8, 4, 0}}, {256, 16, 64, 9, {4, 0, 0}}, {4096, 32, 40, 7, {2, 0, 0}}
};

/* A leaf, or a frame with boxes that are divided by a further level. */
typedef struct Box
{
	const Contents *leaf;		/* or NULL */
	List	   *boxes;			/* Box *, of a frame */
	PositionRange range;		/* of a frame, at its level */
	int			level;
	int			x;				/* within the frame around it */
	int			y;
	int			width;
	int			height;
} Box;

typedef struct Picture
{
	Count		count;
	double		threshold;
	List	   *contents;		/* Contents *, of each leaf */
	int64		items;			/* of all leaves */
	int64		bytes;
	int64		most;			/* bytes of the largest leaf */
	bool		framed;			/* there are frames */
	const Scale *scale;
	int			leaf_width;
	StringInfoData svg;
} Picture;

/* Where something is drawn; fractions of pixels matter to small boxes only. */
typedef struct Area
{
	double		x;
	double		y;
	double		width;
	double		height;
} Area;

static const char style[] =
"<style>"
"svg{background:#fff}text{fill:#1f2933}"
"text{font-family:system-ui,-apple-system,'Segoe UI','Noto Sans','Noto Sans CJK SC',sans-serif}"
".background{fill:#fff}.quiet{fill:#56616e}.frame{fill:none;stroke:#8a95a3}.leaf{fill:#eef1f5;stroke:#8a95a3}"
".key{fill:#a9cbe9;stroke:#fff;stroke-width:.7}.rest{fill:#cdd5df;stroke:#fff;stroke-width:.7}"
".hotkey{fill:#f0a79d;stroke:#c62817;stroke-width:1.2}.hotleaf{fill:none;stroke:#c62817;stroke-width:3}.alarm{fill:#c62817;font-weight:bold}"
"@media(prefers-color-scheme:dark){"
"svg{background:#14181d}text{fill:#e8edf2}.background{fill:#14181d}.quiet{fill:#a4afbb}"
".frame{stroke:#6b7683}.leaf{fill:#222932;stroke:#6b7683}"
".key{fill:#2d608f;stroke:#14181d}.rest{fill:#414c59;stroke:#14181d}.hotkey{fill:#9c3427;stroke:#ff7a68}"
".hotleaf{stroke:#ff7a68}.alarm{fill:#ff8f80}}"
"</style>";

/* Add text as XML has it.  Characters that it can't have become blanks. */
static void
escape(StringInfo svg, const char *text, int len)
{
	for (int i = 0; i < len; i++)
	{
		unsigned char c = text[i];

		if (c == '&')
			appendStringInfoString(svg, "&amp;");
		else if (c == '<')
			appendStringInfoString(svg, "&lt;");
		else if (c == '>')
			appendStringInfoString(svg, "&gt;");
		else if (c == '"')
			appendStringInfoString(svg, "&quot;");
		else if (c < ' ' || c == 0x7f)
			appendStringInfoChar(svg, ' ');
		else if (GetDatabaseEncoding() == PG_UTF8 && strncmp(text + i, "\xef\xbf\xbe", 2) == 0 && (unsigned char) text[i + 2] >= 0xbe)
		{
			/* U+FFFE and U+FFFF */
			appendStringInfoChar(svg, ' ');
			i += 2;
		}
		else
			appendStringInfoChar(svg, c);
	}
}

/*
 * Add text that fits into a width, shortened if need be; nothing if not even
 * some characters would fit.  Wide characters take two places.
 */
static void
put_text(StringInfo svg, const char *class, double x, double y, int font, double width, const char *anchor, const char *text)
{
	int			room = (int) (width / (font * 0.56));
	int			places = 0;
	int			fits = 0;		/* bytes that fit with an ellipsis after them */
	int			at = 0;

	while (text[at] != '\0' && places <= room)
	{
		places += Max(pg_dsplen(text + at), 0);
		at += pg_mblen(text + at);
		if (places < room)
			fits = at;
	}
	if (places > room && room < 4)
		return;
	appendStringInfo(svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\">", class, x, y, font, anchor);
	escape(svg, text, places > room ? fits : at);
	appendStringInfo(svg, "%s</text>\n", places > room ? "&#8230;" : "");
}

/* Begin a group that shows a text when pointed at. */
static void
put_title(StringInfo svg, const char *title)
{
	appendStringInfoString(svg, "<g><title>");
	escape(svg, title, strlen(title));
	appendStringInfoString(svg, "</title>");
}

static void
put_box(StringInfo svg, const char *class, Area area)
{
	appendStringInfo(svg, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
					 class, area.x, area.y, area.width, area.height);
}

static char *
size_in_words(int64 bytes)
{
	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, Int64GetDatum(bytes)));
}

/* The share of the bytes, as what is drawn. */
static double
share_in_percent(const Picture *picture, const Contents *contents)
{
	return picture->bytes == 0 ? 0 : 100.0 * contents->bytes / picture->bytes;
}

/* What a leaf or key holds, in words. */
static char *
contents_in_words(const Picture *picture, const Contents *contents)
{
	return psprintf(INT64_FORMAT " items, %s (%.1f %%)", contents->items, size_in_words(contents->bytes), share_in_percent(picture, contents));
}

/* A range of the hash space by the first digits of its bounds. */
static char *
range_in_words(const Picture *picture, int level, PositionRange range)
{
	/* An EPK has two bits before those of the position. */
	int			shift = picture->count.container->hash == HASH_COSMOS ? 50 : 48;
	uint64		last = range.bits == 0 ? PG_UINT64_MAX : range.min | (PG_UINT64_MAX >> range.bits);

	return psprintf("%s %04X - %s", picture->count.container->paths[level], (unsigned) (range.min >> shift),
					last == PG_UINT64_MAX ? "FF" : psprintf("%04X", (unsigned) ((last + 1) >> shift)));
}

/*
 * The boxes for leaves from *next on that have the same ranges of the first
 * levels as the leaf before; a frame where they are divided by a further one.
 */
static List *
make_boxes(const Picture *picture, int *next, int end, int level)
{
	List	   *boxes = NIL;

	while (*next < end)
	{
		const Contents *first = list_nth(picture->contents, *next);
		Box		   *box = palloc0_object(Box);
		int			last = *next + 1;

		/* those with the same range at this level */
		while (last < end && level + 1 < first->leaf->levels)
		{
			const Contents *other = list_nth(picture->contents, last);

			if (other->leaf->ranges[level].min != first->leaf->ranges[level].min ||
				other->leaf->ranges[level].bits != first->leaf->ranges[level].bits)
				break;
			last++;
		}
		box->level = level;
		box->range = first->leaf->ranges[level];
		if (last - *next > 1)
			box->boxes = make_boxes(picture, next, last, level + 1);
		else
		{
			box->leaf = first;
			(*next)++;
		}
		boxes = lappend(boxes, box);
	}
	return boxes;
}

/* Place boxes in rows; sets the size that they need. */
static void
place_boxes(Picture *picture, List *boxes, int room, int *width, int *height)
{
	int			x = 0;
	int			y = 0;
	int			row = 0;
	ListCell   *cell;

	*width = 0;
	foreach(cell, boxes)
	{
		Box		   *box = lfirst(cell);

		box->width = picture->leaf_width;
		box->height = picture->scale->height;
		if (box->leaf == NULL)
		{
			picture->framed = true;
			place_boxes(picture, box->boxes, room - 2 * PADDING, &box->width, &box->height);
			box->width += 2 * PADDING;
			box->height += 2 * PADDING + picture->scale->font + 2;
		}
		if (x > 0 && x + box->width > room)
		{
			x = 0;
			y += row + GAP;
			row = 0;
		}
		box->x = x;
		box->y = y;
		x += box->width + GAP;
		row = Max(row, box->height);
		*width = Max(*width, box->x + box->width);
	}
	*height = y + row;
}

static void draw_parts(Picture *picture, const Contents *whole, Area area);

/* A key, with its own parts below its name where there is room for them. */
static void
draw_key(Picture *picture, const Contents *key, Area area)
{
	int			font = picture->scale->font - 1;
	int			strip = font + 3;

	put_title(&picture->svg, psprintf("%s: %s", key->key, contents_in_words(picture, key)));
	put_box(&picture->svg, key->hot ? "hotkey" : "key", area);
	if (area.height >= strip)
		put_text(&picture->svg, "name", area.x + 3, area.y + font, font, area.width - 6, "start", key->label);
	appendStringInfoString(&picture->svg, "</g>\n");
	if (key->parts != NIL && area.height >= 3 * strip && area.width >= 3 * strip)
		draw_parts(picture, key, (Area) {area.x + 2, area.y + strip, area.width - 4, area.height - strip - 2});
}

/* The keys that have no box of their own, and are hot as what they are parts of. */
static void
draw_rest(Picture *picture, const Contents *rest, Area area)
{
	int			line = picture->scale->font + 2;

	put_title(&picture->svg, psprintf(INT64_FORMAT " more: %s", rest->nparts, contents_in_words(picture, rest)));
	put_box(&picture->svg, rest->level > 0 && rest->hot ? "hotkey" : "rest", area);
	if (area.height >= line)
		put_text(&picture->svg, "quiet", area.x + 3, area.y + line - 3, line - 3, area.width - 6, "start",
				 psprintf(INT64_FORMAT " more", rest->nparts));
	appendStringInfoString(&picture->svg, "</g>\n");
}

/* Cut an area in two along its longer side. */
static void
cut_area(Area *area, Area *rest, double share)
{
	*rest = *area;
	if (area->width > area->height)
	{
		area->width *= share;
		rest->x += area->width;
		rest->width -= area->width;
	}
	else
	{
		area->height *= share;
		rest->y += area->height;
		rest->height -= area->height;
	}
}

/*
 * Divide an area among keys from first to below end in proportion to their
 * bytes: cut it where about half of the bytes lie on each side, and so on.
 */
static void
draw_keys(Picture *picture, List *keys, int first, int end, int64 bytes, Area area)
{
	Area		rest;
	int64		before = ((Contents *) list_nth(keys, first))->bytes;
	int			cut = first + 1;

	if (cut == end)
	{
		draw_key(picture, list_nth(keys, first), area);
		return;
	}
	while (cut < end - 1 && before + ((Contents *) list_nth(keys, cut))->bytes <= bytes / 2)
		before += ((Contents *) list_nth(keys, cut++))->bytes;
	cut_area(&area, &rest, (double) before / bytes);
	draw_keys(picture, keys, first, cut, before, area);
	draw_keys(picture, keys, cut, end, bytes - before, rest);
}

/* What a leaf or a key holds: its largest parts, and the rest in one box. */
static void
draw_parts(Picture *picture, const Contents *whole, Area area)
{
	int64		bytes = 0;
	Contents	rest = *whole;
	ListCell   *cell;

	foreach(cell, whole->parts)
	{
		Contents   *part = lfirst(cell);

		rest.items -= part->items;
		rest.bytes -= part->bytes;
		bytes += part->bytes;
	}
	rest.nparts -= list_length(whole->parts);
	if (rest.nparts > 0)
	{
		Area		below;

		cut_area(&area, &below, (double) bytes / whole->bytes);
		draw_rest(picture, &rest, below);
	}
	draw_keys(picture, whole->parts, 0, list_length(whole->parts), bytes, area);
}

/* A leaf's name, without that of the container where it begins with it. */
static const char *
short_name(const Picture *picture, const char *name)
{
	const char *container = get_rel_name(picture->count.container->relid);
	size_t		len = strlen(container);

	return strncmp(name, container, len) == 0 && name[len] == '_' ? name + len + 1 : name;
}

/* The text shown for a leaf when pointed at. */
static char *
leaf_title(const Picture *picture, const Contents *leaf, const char *name)
{
	StringInfoData title;

	initStringInfo(&title);
	appendStringInfo(&title, "%s: %s, " INT64_FORMAT " values of %s", name, contents_in_words(picture, leaf),
					 leaf->nparts, picture->count.container->paths[0]);
	for (int i = 0; leaf->leaf->regular && i < leaf->leaf->levels; i++)
		appendStringInfo(&title, "; %s", range_in_words(picture, i, leaf->leaf->ranges[i]));
	return title.data;
}

static void
draw_leaf(Picture *picture, const Contents *leaf, Area area)
{
	StringInfo	svg = &picture->svg;
	char	   *name = get_rel_name(leaf->leaf->relid);
	char	   *share = psprintf("%.1f %%", share_in_percent(picture, leaf));
	int			font = picture->scale->font;
	int			share_width = strlen(share) * font * 0.6;

	/* It may have gone since its rows were counted. */
	if (name == NULL)
		return;
	put_title(svg, leaf_title(picture, leaf, name));
	put_box(svg, "leaf", area);
	put_text(svg, leaf->hot ? "alarm" : "name", area.x + 3, area.y + font, font, area.width - share_width - 10, "start",
			 short_name(picture, name));
	put_text(svg, leaf->hot ? "alarm" : "quiet", area.x + area.width - 3, area.y + font, font, share_width + 2, "end", share);
	appendStringInfoString(svg, "</g>\n");
	if (leaf->items > 0)
	{
		double		height = (area.height - font - 5) * leaf->bytes / picture->most;
		Area		filled = {area.x + 1, area.y + area.height - height - 1, area.width - 2, height};

		/* Where it is too low for a name, the largest key has it above. */
		if (height < font + 2 && area.height - height > 2 * font + 4)
			put_text(svg, "quiet", area.x + 3, filled.y - 4, font - 1, area.width - 6, "start",
					 ((Contents *) linitial(leaf->parts))->label);
		draw_parts(picture, leaf, filled);
	}
	if (leaf->hot)
		put_box(svg, "hotleaf", area);
}

static void
draw_boxes(Picture *picture, List *boxes, int x, int y)
{
	int			font = picture->scale->font;
	ListCell   *cell;

	foreach(cell, boxes)
	{
		Box		   *box = lfirst(cell);
		Area		area = {x + box->x, y + box->y, box->width, box->height};

		CHECK_FOR_INTERRUPTS();
		if (box->leaf != NULL)
		{
			draw_leaf(picture, box->leaf, area);
			continue;
		}
		put_box(&picture->svg, "frame", area);
		put_text(&picture->svg, "quiet", area.x + PADDING, area.y + font, font, area.width - 2 * PADDING, "start",
				 range_in_words(picture, box->level, box->range));
		draw_boxes(picture, box->boxes, area.x + PADDING, area.y + PADDING + font + 2);
	}
}

/* The title, and what it is a picture of. */
static void
draw_header(Picture *picture)
{
	const Container *container = picture->count.container;
	StringInfoData facts;

	initStringInfo(&facts);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&facts, "%s%s", i > 0 ? ", " : "", container->paths[i]);
	appendStringInfo(&facts, ": " INT64_FORMAT " items, %s of rows, %d physical partitions", picture->items,
					 size_in_words(picture->bytes), list_length(picture->contents));
	if (picture->count.sample < 100)
		appendStringInfo(&facts, "; estimated from %g %% of the blocks", picture->count.sample);
	put_text(&picture->svg, "name", MARGIN, 30, 20, WIDTH - 2 * MARGIN, "start", get_rel_name(container->relid));
	put_text(&picture->svg, "quiet", MARGIN, 50, 13, WIDTH - 2 * MARGIN, "start", facts.data);
}

static void
draw_legend(Picture *picture, int y)
{
	/* the last for frames, if there are some */
	const struct
	{
		const char *class;
		char	   *text;
	}			entries[] = {
		{"leaf", picture->most == 0 ? "physical partition, empty"
		: psprintf("physical partition, filled by its bytes, with their share of all; a full one has %s", size_in_words(picture->most))},
		{"key", picture->count.container->levels == 1 ? "logical partition, its area in proportion to its bytes"
			: "key, its area in proportion to its bytes; in it, keys of the next level"},
		{"rest", "all smaller ones together"},
		{"hotkey", psprintf("hot key: it, or a prefix of it, has more than %.4g %% of the items or bytes", 100 * picture->threshold)},
		{"hotleaf", psprintf("hot partition: more than %.4g %% of the items, bytes, reads or writes",
							 100 * HotLeafShare(&picture->count, picture->threshold))},
		{"frame", "range of one path that is divided by the next"}
	};

	for (size_t i = 0; i < lengthof(entries) - (picture->framed ? 0 : 1); i++)
	{
		int			column = (WIDTH - 2 * MARGIN) / 2;
		Area		area = {MARGIN + i % 2 * column, y + i / 2 * 24, 24, 14};

		put_box(&picture->svg, entries[i].class, area);
		put_text(&picture->svg, "name", area.x + 32, area.y + 12, 13, column - 36, "start", entries[i].text);
	}
}

static void
draw(Picture *picture)
{
	int			leaves = list_length(picture->contents);
	int			room = WIDTH - 2 * MARGIN;
	int			deepest = 1;
	int			next = 0;
	int			width;
	int			height;
	List	   *boxes;
	ListCell   *cell;

	foreach(cell, picture->contents)
	{
		Contents   *leaf = lfirst(cell);

		picture->items += leaf->items;
		picture->bytes += leaf->bytes;
		picture->most = Max(picture->most, leaf->bytes);
		deepest = Max(deepest, leaf->leaf->levels);
	}
	/* A row of leaves fits even if each had frames of its own. */
	picture->leaf_width = room / picture->scale->columns - GAP - (deepest - 1) * 2 * PADDING;
	boxes = make_boxes(picture, &next, leaves, 0);
	place_boxes(picture, boxes, room, &width, &height);

	initStringInfo(&picture->svg);
	appendStringInfo(&picture->svg,
					 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n%s\n",
					 WIDTH, HEADER + height + LEGEND, WIDTH, HEADER + height + LEGEND, style);
	put_box(&picture->svg, "background", (Area) {0, 0, WIDTH, HEADER + height + LEGEND});
	draw_header(picture);
	draw_boxes(picture, boxes, MARGIN, HEADER);
	draw_legend(picture, HEADER + height + 14);
	appendStringInfoString(&picture->svg, "</svg>\n");
}

static const Scale *
choose_scale(const Count *count)
{
	const Scale *scale = scales;

	while (scale->leaves < list_length(count->leaves) && scale < scales + lengthof(scales) - 1)
		scale++;
	return scale;
}

/* diagram(container regclass, levels int, threshold float8, sample float8) returns text */
PG_FUNCTION_INFO_V1(diagram);
Datum
diagram(PG_FUNCTION_ARGS)
{
	Picture		picture = {0};
	MemoryContext context = CurrentMemoryContext;
	MemoryContext spi_context;
	text	   *result;
	int			nestlevel;

	if (PG_ARGISNULL(2) || !CountFromArguments(&picture.count, fcinfo, 1, 3))
		PG_RETURN_NULL();
	picture.threshold = ThresholdArgument(PG_GETARG_FLOAT8(2));
	picture.scale = choose_scale(&picture.count);
	nestlevel = CountBegin(&picture.count);
	picture.contents = ContentsOfLeaves(&picture.count, picture.threshold, picture.scale->parts);
	draw(&picture);
	CountTellError(&picture.count);
	spi_context = MemoryContextSwitchTo(context);
	result = cstring_to_text_with_len(picture.svg.data, picture.svg.len);
	MemoryContextSwitchTo(spi_context);
	CountEnd(nestlevel);
	PG_RETURN_TEXT_P(result);
}
