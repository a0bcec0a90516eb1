/* SPDX-License-Identifier: MIT */
#include "formats/base/fault.h"

#include <stdarg.h>
#include <stdio.h>

bool fault(struct fault *why, const char *format, ...)
{
    if (!why || why->text[0] != '\0')
        return false;
    va_list values;
    va_start(values, format);
    vsnprintf(why->text, sizeof(why->text), format, values);
    va_end(values);
    return false;
}
