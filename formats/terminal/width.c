/* SPDX-License-Identifier: MIT */
#include "formats/terminal/width.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <string.h>

/* Characters of two columns: the East Asian Wide and Fullwidth ones of Unicode, in ranges that also cover characters of
 * later versions. */
static const struct range {
    uint32_t first, last;
} wide[] = {
    { 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x2329, 0x232A },   { 0x23E9, 0x23EC },   { 0x23F0, 0x23F0 },
    { 0x23F3, 0x23F3 },   { 0x25FD, 0x25FE },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },   { 0x267F, 0x267F },
    { 0x2693, 0x2693 },   { 0x26A1, 0x26A1 },   { 0x26AA, 0x26AB },   { 0x26BD, 0x26BE },   { 0x26C4, 0x26C5 },
    { 0x26CE, 0x26CE },   { 0x26D4, 0x26D4 },   { 0x26EA, 0x26EA },   { 0x26F2, 0x26F3 },   { 0x26F5, 0x26F5 },
    { 0x26FA, 0x26FA },   { 0x26FD, 0x26FD },   { 0x2705, 0x2705 },   { 0x270A, 0x270B },   { 0x2728, 0x2728 },
    { 0x274C, 0x274C },   { 0x274E, 0x274E },   { 0x2753, 0x2755 },   { 0x2757, 0x2757 },   { 0x2795, 0x2797 },
    { 0x27B0, 0x27B0 },   { 0x27BF, 0x27BF },   { 0x2B1B, 0x2B1C },   { 0x2B50, 0x2B50 },   { 0x2B55, 0x2B55 },
    { 0x2E80, 0x303E },   { 0x3041, 0x33FF },   { 0x3400, 0x4DBF },   { 0x4E00, 0xA4CF },   { 0xA960, 0xA97F },
    { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE10, 0xFE19 },   { 0xFE30, 0xFE6F },   { 0xFF01, 0xFF60 },
    { 0xFFE0, 0xFFE6 },   { 0x16FE0, 0x18DFF }, { 0x1AFF0, 0x1B2FF }, { 0x1F004, 0x1F004 }, { 0x1F0CF, 0x1F0CF },
    { 0x1F18E, 0x1F18E }, { 0x1F191, 0x1F19A }, { 0x1F200, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C },
    { 0x1F37E, 0x1F393 }, { 0x1F3A0, 0x1F3CA }, { 0x1F3CF, 0x1F3D3 }, { 0x1F3E0, 0x1F3F0 }, { 0x1F3F4, 0x1F3F4 },
    { 0x1F3F8, 0x1F43E }, { 0x1F440, 0x1F440 }, { 0x1F442, 0x1F4FC }, { 0x1F4FF, 0x1F53D }, { 0x1F54B, 0x1F54E },
    { 0x1F550, 0x1F567 }, { 0x1F57A, 0x1F57A }, { 0x1F595, 0x1F596 }, { 0x1F5A4, 0x1F5A4 }, { 0x1F5FB, 0x1F64F },
    { 0x1F680, 0x1F6C5 }, { 0x1F6CC, 0x1F6CC }, { 0x1F6D0, 0x1F6D2 }, { 0x1F6D5, 0x1F6DF }, { 0x1F6EB, 0x1F6EC },
    { 0x1F6F4, 0x1F6FC }, { 0x1F7E0, 0x1F7F0 }, { 0x1F90C, 0x1F93A }, { 0x1F93C, 0x1F945 }, { 0x1F947, 0x1F9FF },
    { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD },
};

/* Characters that stand on the one before them. Of scripts with many such marks the blocks of marks only. */
static const struct range combining[] = {
    { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x05BF, 0x05BF }, { 0x05C1, 0x05C2 },
    { 0x05C4, 0x05C5 }, { 0x05C7, 0x05C7 }, { 0x0610, 0x061A }, { 0x064B, 0x065F }, { 0x0670, 0x0670 },
    { 0x06D6, 0x06DC }, { 0x06DF, 0x06E4 }, { 0x06E7, 0x06E8 }, { 0x06EA, 0x06ED }, { 0x0900, 0x0902 },
    { 0x093A, 0x093A }, { 0x093C, 0x093C }, { 0x0941, 0x0948 }, { 0x094D, 0x094D }, { 0x0E31, 0x0E31 },
    { 0x0E34, 0x0E3A }, { 0x0E47, 0x0E4E }, { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x20D0, 0x20F0 },
    { 0x302A, 0x302D }, { 0x3099, 0x309A }, { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F },
};

static bool is_in(const struct range *ranges, size_t count, uint32_t code_point)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < code_point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ranges[low].first <= code_point;
}

static size_t width_columns_of(uint32_t code_point)
{
    if (code_point < 0x300)
        return 1;
    if (is_in(combining, countof(combining), code_point))
        return 0;
    return is_in(wide, countof(wide), code_point) ? 2 : 1;
}

size_t width_of(struct text text)
{
    size_t columns = 0;
    while (text.size > 0) {
        size_t size;
        columns += width_columns_of(utf8_next(text, &size));
        text = (struct text){ text.bytes + size, text.size - size };
    }
    return columns;
}

/* The beginning of the text that takes at most `columns`. */
static struct text beginning(struct text text, size_t columns)
{
    size_t at = 0, used = 0;
    while (at < text.size) {
        size_t size;
        used += width_columns_of(utf8_next((struct text){ text.bytes + at, text.size - at }, &size));
        if (used > columns)
            break;
        at += size;
    }
    return (struct text){ text.bytes, at };
}

/* The end of the text behind a beginning that takes at least `columns`, and does not begin with a mark that stands on
 * the character before. */
static struct text width_behind(struct text text, size_t columns)
{
    size_t used = 0;
    while (text.size > 0) {
        size_t size;
        const size_t more = width_columns_of(utf8_next(text, &size));
        if (used >= columns && more > 0)
            break;
        used += more;
        text = (struct text){ text.bytes + size, text.size - size };
    }
    return text;
}

/* Appends the text; of a text that is too long the beginning takes at most `first_columns`. */
static size_t put_shortened(struct bytes *to, struct text text, size_t columns, size_t first_columns, bool ascii)
{
    const size_t whole = width_of(text), gap = ascii ? 3 : 1;
    if (whole <= columns) {
        put_bytes(to, text.bytes, text.size);
        return whole;
    }
    if (columns <= gap) {
        const struct text kept = beginning(text, columns);
        put_bytes(to, kept.bytes, kept.size);
        return width_of(kept);
    }
    const struct text first = beginning(text, first_columns);
    const struct text last = width_behind(text, whole - (columns - gap - width_of(first)));
    put_bytes(to, first.bytes, first.size);
    put_bytes(to, ascii ? "..." : "\u2026", ascii ? 3 : sizeof("\u2026") - 1);
    put_bytes(to, last.bytes, last.size);
    return width_of(first) + gap + width_of(last);
}

size_t width_put_shortened(struct bytes *to, struct text text, size_t columns, bool ascii)
{
    const size_t gap = ascii ? 3 : 1;
    return put_shortened(to, text, columns, columns > gap ? (columns - gap) / 2 : 0, ascii);
}

/* The part of the path that tells files apart: /api.py, /requests/__init__.py. Empty when the path has no folder. */
static struct text last_part(struct text path)
{
    const struct text package = TEXT("/__init__.py");
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size) : NULL;
    if (!slash)
        return (struct text){ "", 0 };
    const struct text name = { slash, path.size - (size_t)(slash - path.bytes) };
    const char *folder = text_begins(name, package) ? memrchr(path.bytes, '/', path.size - name.size) : NULL;
    return folder ? (struct text){ folder, path.size - (size_t)(folder - path.bytes) } : name;
}

size_t width_put_path(struct bytes *to, struct text path, size_t columns, bool ascii)
{
    const size_t gap = ascii ? 3 : 1;
    const struct text last = last_part(path);
    if (!last.size)
        return width_put_shortened(to, path, columns, ascii);
    const size_t needed = width_of(last) + gap;
    return put_shortened(to, path, columns, columns > needed ? columns - needed : 0, ascii);
}

void width_put_beginning(struct bytes *to, struct text text, size_t columns)
{
    const struct text kept = beginning(text, columns);
    put_bytes(to, kept.bytes, kept.size);
}

void width_put_blanks(struct bytes *to, size_t count)
{
    static const char blanks[] = "                                ";
    for (size_t part; count > 0; count -= part) {
        part = count < sizeof(blanks) - 1 ? count : sizeof(blanks) - 1;
        put_bytes(to, blanks, part);
    }
}

void width_put_cell(struct bytes *to, struct text text, size_t columns, bool ascii)
{
    width_put_blanks(to, columns - width_put_shortened(to, text, columns, ascii));
}

void width_put_path_cell(struct bytes *to, struct text path, size_t columns, bool ascii)
{
    width_put_blanks(to, columns - width_put_path(to, path, columns, ascii));
}
