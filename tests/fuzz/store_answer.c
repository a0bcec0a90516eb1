/* SPDX-License-Identifier: MIT */
/* What a server answers to an upload, and what a user gives as its address. What is accepted can stand in a request. */
#include "convert/sharing/store_answer.h"
#include "convert/viewer/address.h"

#include "formats/base/alloc.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_answer(struct text body)
{
    struct store_answer answer;
    struct fault why = { 0 };
    const bool good = store_answer_read(&answer, body, &why);
    if (good != (answer.token && answer.proof) || good != (why.text[0] == '\0'))
        abort();
    if (good && (!store_answer_is_token(text_of(answer.token)) || !store_answer_is_proof(text_of(answer.proof)) ||
                 strpbrk(answer.proof, " \r\n\"/")))
        abort();
    store_answer_free(&answer);
}

static void check_address(const char *text)
{
    struct address address;
    struct fault why = { 0 };
    const bool good = address_parse_server(&address, text, "it", &why);
    if (good != (address.url != NULL) || (good && strpbrk(address.url, " \r\n\"?#\x1b")))
        abort();
    if (good && (address.origin_size > strlen(address.url) || strncmp(address.url, "http", 4) != 0))
        abort();
    address_free(&address);
}

FUZZ_TARGET(store_answer)
{
    char *text = alloc_copy(bytes, size);
    check_answer((struct text){ text, size });
    check_address(text);
    free(text);
    return 0;
}
