/* SPDX-License-Identifier: MIT */
/* The files that are mapped into a process, or were when its memory was saved. */
#ifndef PYREEL_RECORD_PROCESS_IMAGES_H
#define PYREEL_RECORD_PROCESS_IMAGES_H

#include "record/process/procfs.h"
#include "record/process/remote.h"

/* As procfs_images(); free them with procfs_images_free(). */
bool images_of(struct remote *remote, struct images *images);

/* As procfs_open_image(). */
int images_open(struct remote *remote, const struct image *image);

#endif
