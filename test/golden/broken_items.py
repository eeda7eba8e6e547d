#!/usr/bin/python3
"""Exports with broken items, and where each item of them is.

Each case is an export in one of the layouts below, made item by item, with faults in one to three of its items. So the
generator knows what a reader must give: line, byte offset and id of each sound item, line and byte offset of each broken one.

    test/golden/broken_items.py              writes test/t/broken_items.json, which test/t/010_export.pl reads
    test/golden/broken_items.py FIRST COUNT  prints so many cases, one on each line, to try others

Left out are cases that can be read in two ways (UNTOLD), such as an item that is sound without the rest of its line.
"""

import json
import random
import sys

CASES = 250
UNTOLD = (69, 268)

TEXTS = [
    "a", "text", "tenant-1", "\u00e9", "\U0001f600", "x, y", "{b} [c]", "},{", "],[", '":"', 'say "hi"', "back\\slash",
    "line\nbreak", "", "id", "a:b", "\u65e5\u672c",
]

# before the first item, between two, behind the last; how an item is written
LAYOUTS = {
    "NDJSON": ("", "\n", "\n", "compact"),
    "NDJSON with blank lines": ("\n", "\n\n", "\n\n", "compact"),
    "an array of lines": ("[\n", ",\n", "\n]", "compact"),
    "an array of lines, commas first": ("[\n  ", "\n, ", "\n]", "compact"),
    "lines in a wrapper": ('{"_rid":"x","Documents":[\n', ",\n", '],"_count":5}', "compact"),
    "an array on one line": ("[", ",", "]", "compact"),
    "an array on one line, with blanks": ("[ ", ", ", " ]\n", "blanks"),
    "a wrapper on one line": ('{"value":[', ",", '],"nextLink":null}', "compact"),
    "objects on one line": ("", "", "", "compact"),
    "indented objects": ("", "\n", "\n", "indented"),
    "an indented array": ("[\n    ", ",\n    ", "\n]\n", "indented by 4"),
    "an indented array, brackets on one line": ("[", ", ", "]\n", "indented"),
    "an indented wrapper": ('{\n  "data": [\n    ', ",\n    ", '\n  ],\n  "next": null\n}\n', "indented by 4"),
    "an array without indentation": ("[\n", ",\n", "\n]\n", "flat"),
}


# ---------------------------------------------------------------------------------------------------------------------
# Items

def random_value(rand, depth=0):
    kind = rand.random()
    if depth < 3 and kind < 0.15:
        return random_object(rand, depth + 1)
    if depth < 3 and kind < 0.3:
        return [random_value(rand, depth + 1) for _ in range(rand.randrange(4))]
    if depth < 3 and kind < 0.4:
        return [random_object(rand, depth + 1) for _ in range(rand.randrange(1, 4))]
    if kind < 0.5:
        return rand.choice([True, False, None])
    if kind < 0.7:
        return rand.choice([0, 1, -1.5, 1e3, 42, 12345678])
    return rand.choice(TEXTS)


def random_object(rand, depth):
    result = {"id": rand.choice(["inner", "other"])} if rand.random() < 0.4 else {}
    for _ in range(rand.randrange(4)):
        result[rand.choice("abcdefgh") * rand.randrange(1, 4)] = random_value(rand, depth)
    return result


def random_item(rand, number, names):
    return {"id": str(number)} | {name: random_value(rand) for name in names if rand.random() < 0.85}


def written(item, how):
    if how == "compact":
        return json.dumps(item, separators=(",", ":"), ensure_ascii=False)
    if how == "blanks":
        return json.dumps(item, ensure_ascii=False)
    text = json.dumps(item, indent=2, ensure_ascii=False)
    if how == "flat":
        return "\n".join(line.lstrip(" ") for line in text.split("\n"))
    return text.replace("\n", "\n    ") if how == "indented by 4" else text


# ---------------------------------------------------------------------------------------------------------------------
# Faults

def tokens(text):
    """Places of brackets, commas and colons outside of strings, and of the quotes that begin (<) and end (>) strings."""
    result, quoted, escaped = [], False, False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif quoted:
            escaped = char == "\\"
            if char == '"':
                quoted = False
                result.append((at, ">"))
        elif char == '"':
            quoted = True
            result.append((at, "<"))
        elif char in "{}[],:":
            result.append((at, char))
    return result


def replaced(rand, text, kinds, by, behind=False, inner=False):
    """The text with one of the tokens replaced, or with something put behind it; None if there is none."""
    places = [at for at, kind in tokens(text) if kind in kinds and not (inner and at in (0, len(text) - 1))]
    if not places:
        return None
    at = rand.choice(places)
    return text[:at] + (text[at] if behind else "") + by + text[at + 1:]


FAULTS = {
    "no first quote": lambda r, t: replaced(r, t, "<", ""),
    "no last quote": lambda r, t: replaced(r, t, ">", ""),
    "an escaped quote": lambda r, t: replaced(r, t, ">", '\\"'),
    "single quotes": lambda r, t: t.replace('"', "'") if "[" not in t else None,
    "no closing bracket inside": lambda r, t: replaced(r, t, "}]", "", inner=True),
    "no opening bracket inside": lambda r, t: replaced(r, t, "{[", "", inner=True),
    "no first bracket": lambda r, t: t[1:].lstrip(),
    "no last bracket": lambda r, t: t[:-1].rstrip(),
    "the last bracket reversed": lambda r, t: t[:-1] + "{",
    "a bracket of the other kind": lambda r, t: replaced(r, t, "}", "]", inner=True),
    "an opening bracket too many": lambda r, t: replaced(r, t, ":", r.choice(["{", "["]), behind=True),
    "a closing bracket too many": lambda r, t: replaced(r, t, ">", r.choice("}]"), behind=True),
    "a last bracket too many": lambda r, t: t + r.choice("}]}"),
    "cut off": lambda r, t: t[:r.randrange(min(6, len(t) - 2), len(t) - 1)].rstrip(),
    "no comma": lambda r, t: replaced(r, t, ",", ""),
    "a comma too many": lambda r, t: replaced(r, t, "{[,", ",", behind=True),
    "no colon": lambda r, t: replaced(r, t, ":", ""),
    "a wrong word": lambda r, t: replaced(r, t, ":", "tru,", behind=True),
    "no object": lambda r, t: r.choice(["garbage", "42", '"str"', "null", "-"]),
    "a zero": lambda r, t: replaced(r, t, ">", '\\u0000"'),
    "half of a pair": lambda r, t: replaced(r, t, ">", '\\ud83d"'),
}


def is_sound(text):
    try:
        return isinstance(json.loads(text), dict) and "\\u0000" not in text and '\\ud83d"' not in text
    except ValueError:
        return False


def broken(rand, text, number, wrapped):
    """The text with a fault, and the name of that."""
    while True:
        name = rand.choice(sorted(FAULTS))
        result = FAULTS[name](rand, text)
        if not result or result == text or is_sound(result):
            continue
        # An array that does not begin with an object makes no wrapper.
        if not (wrapped and number == 0 and result[0] != "{"):
            return result, name


# ---------------------------------------------------------------------------------------------------------------------
# Cases

def case(seed):
    rand = random.Random(seed)
    layout = sorted(LAYOUTS)[seed % len(LAYOUTS)]
    before, between, after, how = LAYOUTS[layout]
    names = rand.sample(["pk", "list", "n", "s", "customer", "tags"], rand.randrange(1, 4))
    texts = [written(random_item(rand, number, names), how) for number in range(rand.randrange(4, 9))]
    marks = [str(number) for number in range(len(texts))]
    faults = []
    for number in rand.sample(range(0, len(texts), 2), rand.choice([1, 1, 2])):
        texts[number], fault = broken(rand, texts[number], number, "wrapper" in layout)
        marks[number] = "!"
        faults.append(fault)
    line_end = rand.choice(["\n", "\n", "\n", "\r\n"])
    before, between, after, *texts = (text.replace("\n", line_end) for text in (before, between, after, *texts))
    text, items = before, []
    for number, item in enumerate(texts):
        text += between if number else ""
        items.append(f"{1 + text.count(chr(10))}:{len(text.encode())}:{marks[number]}")
        text += item
    return {"name": f"{seed}: {layout}: {', '.join(faults)}", "text": text + after, "items": " ".join(items)}


def main(arguments):
    if len(arguments) == 3:
        for seed in range(int(arguments[1]), int(arguments[1]) + int(arguments[2])):
            print(json.dumps(case(seed)))
    else:
        with open("test/t/broken_items.json", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(case(seed)) + "\n" for seed in range(1, CASES + 1) if seed not in UNTOLD)


main(sys.argv)
