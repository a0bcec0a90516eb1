/* SPDX-License-Identifier: MIT */
/* How a profile gets where the user wants to see it: to a viewer in a browser (--open, --serve), or to a store of
 * profiles (--upload). */
#ifndef PYREEL_CONVERT_GECKO_GECKO_DELIVERY_H
#define PYREEL_CONVERT_GECKO_GECKO_DELIVERY_H

#include "convert/gecko/to_gecko.h"

/* Sends the profile while it is made: calls gecko_finish(). False with the reason on failure; then the store has no
 * profile. */
bool gecko_delivery_stream(struct to_gecko *to, struct fault *why);

/* Shows the finished profile, or sends it, if the user wants so. `path` is its file; NULL: the profile is in
 * conversion->kept_fd. False with the reason on failure. */
bool gecko_delivery_deliver(const struct to_gecko *to, const char *path, struct fault *why);

#endif
