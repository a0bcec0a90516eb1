/* SPDX-License-Identifier: MIT */
/* In the place of store.c when pyreel is built without libcurl. */
#include "convert/sharing/store.h"

#define HOW                                                                                                            \
    "this pyreel was built without libcurl; install libcurl4-openssl-dev (or another libcurl for developers), then "   \
    "run meson setup --reconfigure -Dupload=enabled build, and build again"

bool store_exists(struct fault *why)
{
    return fault(why, HOW);
}

struct store_upload *store_upload_begin(const struct store *store, int *body, struct fault *why)
{
    (void)store, (void)body;
    fault(why, HOW);
    return NULL;
}

bool store_upload_end(struct store_upload *upload, struct bytes *answer, struct fault *why)
{
    (void)upload, (void)answer;
    return fault(why, HOW);
}

void store_upload_cut(struct store_upload *upload, struct fault *why)
{
    (void)upload, (void)why;
}

enum store_deleted store_delete(const struct store *store, const char *token, const char *proof, struct fault *why)
{
    (void)store, (void)token, (void)proof;
    fault(why, HOW);
    return STORE_FAILED;
}
