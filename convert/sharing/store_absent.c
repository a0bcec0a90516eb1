/* SPDX-License-Identifier: MIT */
/* In the place of store.c in static programs: Debian has no static form of a library that libcurl needs (Kerberos).
 * share_first() refuses to share before these functions are called. */
#include "convert/sharing/store.h"

struct store_upload *store_upload_begin(const struct store *store, int *body, struct fault *why)
{
    (void)store, (void)body, (void)why;
    return NULL;
}

bool store_upload_end(struct store_upload *upload, struct bytes *answer, struct fault *why)
{
    (void)upload, (void)answer, (void)why;
    return false;
}

void store_upload_cut(struct store_upload *upload, struct fault *why)
{
    (void)upload, (void)why;
}

enum store_deleted store_delete(const struct store *store, const char *token, const char *proof, struct fault *why)
{
    (void)store, (void)token, (void)proof, (void)why;
    return STORE_FAILED;
}
