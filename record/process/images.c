/* SPDX-License-Identifier: MIT */
#include "record/process/images.h"

bool images_of(struct remote *remote, struct images *images)
{
    return remote->kind ? remote->kind->images(remote->self, images) : procfs_images(remote->pid, images);
}

int images_open(struct remote *remote, const struct image *image)
{
    return remote->kind ? remote->kind->open_image(remote->self, image) : procfs_open_image(remote->pid, image);
}
