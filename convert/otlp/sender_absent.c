/* SPDX-License-Identifier: MIT */
/* In the place of sender.c in static programs, which cannot have libcurl (convert/sharing/store_absent.c). */
#include "convert/otlp/sender.h"

#include <stddef.h>

bool sender_in_environment(void)
{
    return false;
}

struct sender *sender_open(const struct sender_wishes *wishes, struct fault *why)
{
    (void)wishes;
    fault(why, "this static program cannot send: write files with -o, and send them with curl (docs/fleets.md)");
    return NULL;
}

bool sender_file(struct sender *sender, struct output *output, struct fault *why)
{
    (void)sender, (void)output;
    return fault(why, "a static program cannot send");
}

bool sender_add(struct sender *sender, struct output *output, struct fault *why)
{
    (void)sender, (void)output;
    return fault(why, "a static program cannot send");
}

bool sender_close(struct sender *sender, struct sender_counts *counts)
{
    (void)sender;
    *counts = (struct sender_counts){ 0 };
    return true;
}
