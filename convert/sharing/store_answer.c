/* SPDX-License-Identifier: MIT */
#include "convert/sharing/store_answer.h"

#include "formats/base/alloc.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The value of a character of base64url; -1: the character is none. */
static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool store_answer_is_token(struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (base64_digit(text.bytes[i]) < 0)
            return false;
    return text.size > 0 && text.size <= STORE_TOKEN_MOST;
}

/* Takes the part in front of the next dot, or the last part. False when there is none, or the part is not base64url. */
static bool take_part_of(struct text *rest, struct text *part)
{
    if (rest->size == 0)
        return false;
    const char *dot = memchr(rest->bytes, '.', rest->size);
    *part = (struct text){ rest->bytes, dot ? (size_t)(dot - rest->bytes) : rest->size };
    const size_t used = part->size + (dot != NULL);
    *rest = (struct text){ rest->bytes + used, rest->size - used };
    for (size_t i = 0; i < part->size; i++)
        if (base64_digit(part->bytes[i]) < 0)
            return false;
    return part->size > 0;
}

static bool take_payload(struct text proof, struct text *payload)
{
    struct text head, signature;
    return proof.size <= STORE_ANSWER_MOST && take_part_of(&proof, &head) && take_part_of(&proof, payload) &&
           take_part_of(&proof, &signature) && proof.size == 0;
}

bool store_answer_is_proof(struct text text)
{
    struct text payload;
    return take_payload(text, &payload);
}

/* Decodes base64url without padding. A part of a character at the end is dropped. The caller frees the text. */
static struct text base64_decode(struct text coded)
{
    char *bytes = alloc_zeroed(coded.size + 1, 1);
    size_t size = 0;
    unsigned bits = 0, value = 0;
    for (size_t i = 0; i < coded.size; i++) {
        value = (value << 6 | (unsigned)base64_digit(coded.bytes[i])) & 0xFFFF;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        bytes[size++] = (char)(value >> bits);
    }
    return (struct text){ bytes, size };
}

/* The token that the payload names. NULL: none. The caller frees it. */
static char *payload_token(struct text payload)
{
    const struct text text = base64_decode(payload);
    json_t *value = json_loadb(text.bytes, text.size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *named = json_object_get(value, "profileToken");
    const struct text token = { json_string_value(named), json_string_length(named) };
    char *copy = store_answer_is_token(token) ? alloc_copy(token.bytes, token.size) : NULL;
    json_decref(value);
    text_free(text);
    return copy;
}

bool store_answer_read(struct store_answer *answer, struct text body, struct fault *why)
{
    const struct text proof = text_trimmed(body);
    struct text payload;
    *answer = (struct store_answer){ 0 };
    if (take_payload(proof, &payload))
        answer->token = payload_token(payload);
    if (!answer->token)
        return fault(why, "the answer is not the token that a store of profiles gives; is --server such a store?");
    answer->proof = alloc_copy(proof.bytes, proof.size);
    return true;
}

void store_answer_free(struct store_answer *answer)
{
    free(answer->token);
    free(answer->proof);
    *answer = (struct store_answer){ 0 };
}
