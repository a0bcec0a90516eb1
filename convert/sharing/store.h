/* SPDX-License-Identifier: MIT */
/* The requests to a store of profiles: send one, delete one. The store's interface is that of the Firefox Profiler's
 * own store (api.profiler.firefox.com):
 *
 *     POST /compressed-store   the body is a gzip'd profile; the answer is a web token (store_answer.h)
 *     DELETE /profile/TOKEN    with the web token as proof
 *
 * A profile is sent while it is made: a thread sends what the caller writes to a pipe. The body goes in chunks without
 * a size in front, so a body that is cut has no end, and the store refuses it. Nothing is sent anywhere else: no
 * redirection is followed. The store is not trusted.
 *
 * Static programs have store_absent.c in the place of store.c. */
#ifndef PYREEL_CONVERT_SHARING_STORE_H
#define PYREEL_CONVERT_SHARING_STORE_H

#include "formats/base/bytes.h"
#include "formats/base/fault.h"

#include <stdint.h>

struct store {
    const char *server;   /* URL without a slash at its end */
    uint64_t limit_bytes; /* most bytes of an upload */
    uint64_t patience_ns; /* give up when nothing moves for so long */
    const char *progress; /* name of the program, for the line of progress; NULL: show none */
};

struct store_upload;

/* Begins an upload. The caller writes the profile to *body and closes *body; then the caller ends or cuts the upload.
 * When the upload fails, *body breaks (EPIPE). NULL with the reason on failure. */
struct store_upload *store_upload_begin(const struct store *store, int *body, struct fault *why);

/* The profile is whole: ends the body, and waits for the answer. False with the reason on failure. Frees the upload.
 * The caller frees *answer. */
bool store_upload_end(struct store_upload *upload, struct bytes *answer, struct fault *why);

/* The profile is not whole: cuts the body, so that the store refuses it. Notes in `why` how the upload failed, if the
 * upload failed by itself. Frees the upload. Safe on NULL. */
void store_upload_cut(struct store_upload *upload, struct fault *why);

enum store_deleted { STORE_DELETED, STORE_HAS_NONE, STORE_FAILED };

/* Deletes a profile. With the reason unless the profile was deleted. */
enum store_deleted store_delete(const struct store *store, const char *token, const char *proof, struct fault *why);

#endif
