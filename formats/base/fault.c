/* SPDX-License-Identifier: MIT */
#include "formats/base/fault.h"

#include "formats/base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

bool fault(struct fault *why, const char *format, ...)
{
    if (!why || why->text[0] != '\0')
        return false;
    va_list values;
    va_start(values, format);
    char text[sizeof(why->text)];
    vsnprintf(text, sizeof(text), format, values);
    utf8_show_string(why->text, sizeof(why->text), text);
    va_end(values);
    return false;
}
