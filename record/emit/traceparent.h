/* SPDX-License-Identifier: MIT */
/* A span that stands behind a name, in the form of W3C's traceparent: "GET /items 00-TRACE-SPAN-01", with 32 and 16
 * hexadecimal digits. So names of labels and of tasks can tell on which span their thread works. */
#ifndef PYREEL_RECORD_EMIT_TRACEPARENT_H
#define PYREEL_RECORD_EMIT_TRACEPARENT_H

#include "formats/model/event.h"

/* Takes the span off a name, which becomes shorter, and sets *span. False: it has none, and stays as it is. */
bool traceparent_take(struct text *name, struct span_ids *span);

#endif
