/* SPDX-License-Identifier: MIT */
/* The answer of a store of profiles to an upload: a JSON web token, three parts in base64url with dots between them.
 * The middle part is JSON and names the profile. The whole token proves that we own the profile: who has it may delete
 * the profile. It must never be printed. The answer is not trusted.
 *
 *     eyJhbGciOi... . eyJwcm9maWxlVG9rZW4iOiJhYmMifQ . 9b2c...
 *                     {"profileToken":"abc"} */
#ifndef PYREEL_CONVERT_SHARING_STORE_ANSWER_H
#define PYREEL_CONVERT_SHARING_STORE_ANSWER_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

#define STORE_ANSWER_MOST ((size_t)16 << 10) /* bytes of an answer; true ones have about 200 */
#define STORE_TOKEN_MOST  ((size_t)128)      /* bytes of a profile's token; true ones have 39 */

struct store_answer {
    char *token; /* names the profile: letters, digits, - and _; owned */
    char *proof; /* the whole web token; owned */
};

/* Reads an answer. False with the reason when it is no web token with the name of a profile; the reason holds nothing
 * of the answer. */
bool store_answer_read(struct store_answer *answer, struct text body, struct fault *why);

/* Whether the text can be a profile's token. */
bool store_answer_is_token(struct text text);

/* Whether the text can be a web token: characters that are safe in a header of a request. */
bool store_answer_is_proof(struct text text);

/* Frees both strings. Safe on an empty answer. */
void store_answer_free(struct store_answer *answer);

#endif
