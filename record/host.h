/* SPDX-License-Identifier: MIT */
/* Describes the machine on which a recording is made. */
#ifndef PYREEL_RECORD_HOST_H
#define PYREEL_RECORD_HOST_H

#include "formats/model/event.h"

/* Fills the fields host, kernel, machine, processor, processors, cores and memory. host_forget() frees the texts. */
void host_describe(struct recording *recording);

/* Frees the texts that host_describe() made. */
void host_forget(struct recording *recording);

#endif
