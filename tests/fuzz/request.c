/* SPDX-License-Identifier: MIT */
/* The bytes that came on a connection. Who does not know the token gets nothing, however the request looks. */
#include "convert/viewer/answer.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct site site = {
    .token = TOKEN,
    .port = 4242,
    .origin = "https://profiler.firefox.com",
    .by_url = "https://profiler.firefox.com/from-url/x/",
    .by_page = "https://profiler.firefox.com/from-post-message/",
    .size = 1000,
    .gzip = true,
};

static bool holds(struct text text, const char *part)
{
    return text.size && memmem(text.bytes, text.size, part, strlen(part));
}

/* Aborts when an answer gives away what only the token opens. */
static void check_answer(struct text bytes, enum request_state state, const struct request *request)
{
    struct answer answer = answer_to(&site, state, request);
    const struct text text = { (const char *)answer.bytes.at, answer.bytes.size };
    const bool good = text_begins(text, TEXT("HTTP/1.1 2"));
    if (!text_begins(text, TEXT("HTTP/1.1 ")) || !holds(text, "\r\n\r\n"))
        abort();
    if (good && (state != REQUEST_WHOLE || request->body || !holds(bytes, "/" TOKEN "/")))
        abort();
    if (!good && (answer.profile || holds(text, "Access-Control-Allow") || holds(text, "profiler.firefox.com")))
        abort();
    bytes_free(&answer.bytes);
}

/* Whether a text lies in the bytes. */
static bool lies_in(struct text bytes, struct text text)
{
    return !text.size || (text.bytes >= bytes.bytes && text.bytes + text.size <= bytes.bytes + bytes.size);
}

FUZZ_TARGET(request)
{
    const struct text all = { (const char *)bytes, size < 2 * REQUEST_MOST ? size : 2 * REQUEST_MOST };
    struct request request;
    const enum request_state state = request_parse(all, &request);
    if (!lies_in(all, request.path) || !lies_in(all, request.host) || !lies_in(all, request.origin))
        abort();
    if (state == REQUEST_PARTIAL && all.size >= REQUEST_MOST)
        abort();
    if (state != REQUEST_PARTIAL)
        check_answer(all, state, &request);
    return 0;
}
