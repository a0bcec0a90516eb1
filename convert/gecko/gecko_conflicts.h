/* SPDX-License-Identifier: MIT */
/* Options of pyreel-gecko that do not go together: a table with a row for each conflict, and the message that names the
 * way out. */
#ifndef PYREEL_CONVERT_GECKO_GECKO_CONFLICTS_H
#define PYREEL_CONVERT_GECKO_GECKO_CONFLICTS_H

#include "convert/convert.h"

/* Why the options cannot be used together, or a value is wrong; NULL: they can. */
const char *gecko_conflicts_problem(const struct settings *settings);

#endif
