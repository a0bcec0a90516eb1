/* SPDX-License-Identifier: MIT */
/* What pyreel-gecko works with while it runs. The files of this room: to_gecko.c: the steps of the conversion, as all
 * converters have them; gecko_options.h and gecko_conflicts.h: its options; gecko_delivery.h: how the profile gets to a
 * viewer or a store; gecko_told.h: what the user is told of the profile. */
#ifndef PYREEL_CONVERT_GECKO_TO_GECKO_H
#define PYREEL_CONVERT_GECKO_TO_GECKO_H

#include "convert/gecko/gecko_options.h"
#include "convert/viewer/spot.h"

struct to_gecko {
    struct conversion *conversion;
    const struct gecko_wanted *wanted;
    struct gecko *gecko;
    struct spot spot;         /* of the view */
    struct intern recordings; /* the numbers of merged recordings, by name, for --sanitize */
    uint64_t json_bytes;      /* of the profile */
};

#endif
