/* SPDX-License-Identifier: MIT */
#include "formats/terminal/printable.h"

#include "formats/base/utf8.h"

void put_printable(struct bytes *to, struct text text, bool ascii)
{
    char shown[UTF8_SHOWN];
    while (text.size > 0)
        put_bytes(to, shown, utf8_show(&text, ascii, shown));
}

void printable_write(struct output *to, struct text text)
{
    struct bytes printable = { 0 };
    put_printable(&printable, text, false);
    output_bytes(to, printable.at, printable.size);
    bytes_free(&printable);
}
