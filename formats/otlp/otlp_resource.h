/* SPDX-License-Identifier: MIT */
/* The attributes of a process as those of an OTLP resource, by OpenTelemetry's semantic conventions. Only what the
 * recording has is told. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_RESOURCE_H
#define PYREEL_FORMATS_OTLP_OTLP_RESOURCE_H

#include "formats/model/tables.h"
#include "formats/otlp/otlp_parts.h"
#include "otlp.pb-c.h"

/* Fills in the resource of a process. `unplaced_ns`: CPU time that belongs to no look, told if it is not 0. */
void otlp_resource_fill(Pyreel__Otlp__Resource *to, const struct tables *tables, uint32_t process, uint64_t unplaced_ns,
                        struct otlp_parts *parts);

#endif
