/* SPDX-License-Identifier: MIT */
/* Packs what an output wrote for a place in an HTML file: gzip, which browsers unpack themselves, and base64, which has
 * no character that means anything in HTML. The bytes wait in a temporary file, so memory does not grow with them. */
#ifndef PYREEL_FORMATS_FLAME_PACKED_H
#define PYREEL_FORMATS_FLAME_PACKED_H

#include "formats/base/output.h"

/* `= {0}` is closed. */
struct packed {
    struct output plain; /* takes the bytes */
    int fd;              /* of the temporary file */
};

/* Opens packed->plain. False with the reason. */
bool packed_open(struct packed *packed, struct fault *why);

/* Closes packed->plain, and writes all its bytes to `to`, packed. False with the reason; write errors are kept in
 * `to`. */
bool packed_close(struct packed *packed, struct output *to, struct fault *why);

/* Discards the bytes. Safe on a closed one. */
void packed_abandon(struct packed *packed);

#endif
