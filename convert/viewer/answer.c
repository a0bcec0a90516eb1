/* SPDX-License-Identifier: MIT */
#include "convert/viewer/answer.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The page allows nothing but its own script, the profile and its own style. */
static const char page_begin[] =
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>A profile of pyreel</title>\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "button{font:inherit;padding:.4em 1em}</style>\n"
    "<h1>A profile of pyreel</h1>\n"
    "<p>The profile is on this machine until a viewer has it; nothing is uploaded.</p>\n";
static const char page_end[] = "<p><output id=\"state\"></output></p>\n<script src=\"open.js\"></script>\n";

/* The viewer says when it is ready to take a profile. A window can be opened only by a click. */
static const char script[] =
    "\"use strict\";\n"
    "const button = document.getElementById(\"open\");\n"
    "const say = words => { document.getElementById(\"state\").value = words; };\n"
    "let profile = null;\n"
    "async function fetchProfile() {\n"
    "    const answer = await fetch(\"profile.json\");\n"
    "    if (!answer.ok)\n"
    "        throw new Error(answer.status);\n"
    "    return answer.arrayBuffer();\n"
    "}\n"
    "function handOver(viewer) {\n"
    "    const origin = button.dataset.origin;\n"
    "    const asking = setInterval(() => viewer.postMessage({ name: \"ready:request\" }, origin), 200);\n"
    "    addEventListener(\"message\", function take(event) {\n"
    "        if (event.source !== viewer || event.origin !== origin || !event.data || event.data.name !== "
    "\"ready:response\")\n"
    "            return;\n"
    "        clearInterval(asking);\n"
    "        removeEventListener(\"message\", take);\n"
    "        viewer.postMessage({ name: \"inject-profile\", profile }, origin);\n"
    "        say(\"The viewer has the profile.\");\n"
    "    });\n"
    "}\n"
    "button.addEventListener(\"click\", async () => {\n"
    "    const viewer = window.open(button.dataset.viewer);\n"
    "    if (!viewer)\n"
    "        return say(\"The browser opened no window. Allow this page to open windows, and try again.\");\n"
    "    say(\"The viewer is loading.\");\n"
    "    try {\n"
    "        profile = profile || await fetchProfile();\n"
    "    } catch (error) {\n"
    "        return say(\"The profile is no longer here. Run pyreel-gecko again.\");\n"
    "    }\n"
    "    handOver(viewer);\n"
    "});\n";

/* Appends a string as the value of an HTML attribute. */
static void put_attribute(struct bytes *to, const char *string)
{
    for (const char *at = string; *at; at++) {
        if (strchr("&\"<>'", *at))
            put_format(to, "&#%d;", *at);
        else
            put_bytes(to, at, 1);
    }
}

static struct bytes make_page(const struct site *site)
{
    struct bytes page = { 0 };
    put_string(&page, page_begin);
    put_string(&page, "<p><a id=\"link\" href=\"");
    put_attribute(&page, site->by_url);
    put_string(&page, "\">Let the viewer fetch the profile</a>. Your browser may ask whether the viewer may reach this "
                      "machine: allow it. Safari refuses.</p>\n<p><button id=\"open\" data-viewer=\"");
    put_attribute(&page, site->by_page);
    put_string(&page, "\" data-origin=\"");
    put_attribute(&page, site->origin);
    put_string(&page, "\">Hand the profile to the viewer</button> This works in every browser.</p>\n");
    put_string(&page, page_end);
    return page;
}

enum body { BODY_WORDS, BODY_PROFILE, BODY_PAGE, BODY_SCRIPT };

/* What is at which path below the token. */
static const struct place {
    const char *path, *type;
    enum body body;
} places[] = {
    { "", "text/html; charset=utf-8", BODY_PAGE },
    { "open.js", "text/javascript; charset=utf-8", BODY_SCRIPT },
    { "profile.json", "application/json", BODY_PROFILE },
};

static const struct status {
    unsigned number;
    const char *reason;
} statuses[] = {
    { 200, "OK" },
    { 204, "No Content" },
    { 400, "Bad Request" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 421, "Misdirected Request" },
    { 431, "Request Header Fields Too Large" },
};

static const char *reason_of(unsigned number)
{
    for (size_t i = 0; i < countof(statuses); i++)
        if (statuses[i].number == number)
            return statuses[i].reason;
    return "";
}

/* Begins the head of an answer: the lines that all answers have. The connection ends behind each answer. */
static void put_head(struct bytes *to, unsigned status)
{
    put_format(to, "HTTP/1.1 %u %s\r\n", status, reason_of(status));
    put_string(to, "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                   "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nVary: Origin\r\n"
                   "Content-Security-Policy: default-src 'none'; script-src 'self'; connect-src 'self'; "
                   "style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'\r\n");
}

static struct answer answer_refuse(unsigned status, bool words)
{
    struct answer answer = { 0 };
    put_head(&answer.bytes, status);
    if (status == 405)
        put_string(&answer.bytes, "Allow: GET, HEAD, OPTIONS\r\n");
    put_format(&answer.bytes, "Content-Type: text/plain\r\nContent-Length: %zu\r\n\r\n", strlen(reason_of(status)) + 1);
    if (words)
        put_format(&answer.bytes, "%s\n", reason_of(status));
    return answer;
}

/* Whether a text is "START127.0.0.1:PORT" or "STARTlocalhost:PORT". */
static bool answer_is_ours(struct text text, const char *start, unsigned port)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };
    char ours[64];
    for (size_t i = 0; i < countof(names); i++) {
        snprintf(ours, sizeof(ours), "%s%s:%u", start, names[i], port);
        if (text_equal(text, text_of(ours)))
            return true;
    }
    return false;
}

/* Whether the path begins with the token, in a time that does not depend on how much of the token is right. Leaves the
 * path behind the token in *below. */
static bool is_below_token(const struct site *site, struct text path, struct text *below)
{
    const size_t size = strlen(site->token);
    unsigned char wrong = 0;
    if (path.size < size + 2 || path.bytes[0] != '/' || path.bytes[size + 1] != '/')
        return false;
    for (size_t i = 0; i < size; i++)
        wrong |= (unsigned char)(path.bytes[1 + i] ^ site->token[i]);
    *below = (struct text){ path.bytes + size + 2, path.size - size - 2 };
    return wrong == 0;
}

static const struct place *place_at(struct text below)
{
    for (size_t i = 0; i < countof(places); i++)
        if (text_equal(below, text_of(places[i].path)))
            return &places[i];
    return NULL;
}

/* Allows the viewer's pages to read the answer. */
static void put_allowed_origin(struct bytes *to, const struct site *site, const struct request *request)
{
    if (!text_equal(request->origin, text_of(site->origin)))
        return;
    put_string(to, "Access-Control-Allow-Origin: ");
    put_string(to, site->origin);
    put_string(to, "\r\n");
}

/* Answers to the question whether a page of another origin may ask. */
static struct answer allow(const struct site *site, const struct request *request)
{
    struct answer answer = { 0 };
    put_head(&answer.bytes, 204);
    put_allowed_origin(&answer.bytes, site, request);
    put_string(&answer.bytes, "Access-Control-Allow-Methods: GET, HEAD\r\n");
    if (request->private_network)
        put_string(&answer.bytes, "Access-Control-Allow-Private-Network: true\r\n");
    put_string(&answer.bytes, "\r\n");
    return answer;
}

static struct answer answer_give(const struct site *site, const struct request *request, const struct place *place)
{
    struct answer answer = { .profile = place->body == BODY_PROFILE && request->method == METHOD_GET };
    struct bytes body = { 0 };
    if (place->body == BODY_PAGE)
        body = make_page(site);
    if (place->body == BODY_SCRIPT)
        put_string(&body, script);
    put_head(&answer.bytes, 200);
    put_format(&answer.bytes, "Content-Type: %s\r\n", place->type);
    if (place->body == BODY_PROFILE) {
        put_allowed_origin(&answer.bytes, site, request);
        if (site->gzip)
            put_string(&answer.bytes, "Content-Encoding: gzip\r\n");
    }
    put_format(&answer.bytes, "Content-Length: %" PRIu64 "\r\n\r\n",
               place->body == BODY_PROFILE ? site->size : (uint64_t)body.size);
    if (request->method == METHOD_GET)
        put_bytes(&answer.bytes, body.at, body.size);
    bytes_free(&body);
    return answer;
}

/* Whether the page that asks may see what is at the place. A page that asks without an Origin cannot read the answer;
 * but the profile is not given to such a page of another site, because it would then count as fetched. */
static bool may_see(const struct site *site, const struct request *request, const struct place *place)
{
    if (request->origin.size)
        return text_equal(request->origin, text_of(site->origin)) ||
               answer_is_ours(request->origin, "http://", site->port);
    return !request->foreign || place->body != BODY_PROFILE;
}

struct answer answer_to(const struct site *site, enum request_state state, const struct request *request)
{
    struct text below;
    if (state != REQUEST_WHOLE)
        return answer_refuse(state == REQUEST_LARGE ? 431 : 400, true);
    const bool words = request->method != METHOD_HEAD;
    if (!answer_is_ours(request->host, "", site->port))
        return answer_refuse(421, words);
    if (request->method == METHOD_OTHER)
        return answer_refuse(405, words);
    if (!is_below_token(site, request->path, &below) || !place_at(below))
        return answer_refuse(404, words);
    if (!may_see(site, request, place_at(below)))
        return answer_refuse(403, words);
    if (request->body)
        return answer_refuse(400, words);
    return request->method == METHOD_OPTIONS ? allow(site, request) : answer_give(site, request, place_at(below));
}
