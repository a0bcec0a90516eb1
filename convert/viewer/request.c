/* SPDX-License-Identifier: MIT */
#include "convert/viewer/request.h"

#include "formats/base/alloc.h"

#include <string.h>
#include <strings.h>

/* Whether a line has no control characters but tabs. */
static bool is_line(struct text line)
{
    for (size_t i = 0; i < line.size; i++) {
        const unsigned char byte = (unsigned char)line.bytes[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7F)
            return false;
    }
    return true;
}

/* Whether a text is a token of HTTP: the name of a method or of a header. */
static bool is_token(struct text text)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (size_t i = 0; i < text.size; i++)
        if (!text.bytes[i] || !strchr(allowed, text.bytes[i]))
            return false;
    return text.size > 0;
}

/* Takes the text up to the first `end` and leaves the rest behind that byte. False: there is no such byte. */
static bool take_until(struct text *rest, char end, struct text *taken)
{
    const char *at = memchr(rest->bytes, end, rest->size);
    if (!at)
        return false;
    *taken = (struct text){ rest->bytes, (size_t)(at - rest->bytes) };
    rest->size -= taken->size + 1;
    rest->bytes = at + 1;
    return true;
}

static bool is_named(struct text name, const char *expected)
{
    return name.size == strlen(expected) && strncasecmp(name.bytes, expected, name.size) == 0;
}

/* GET /path?query HTTP/1.1 */
static bool parse_first_line(struct text line, struct request *request)
{
    static const char *const methods[] = { [METHOD_GET] = "GET", [METHOD_HEAD] = "HEAD", [METHOD_OPTIONS] = "OPTIONS" };
    struct text method, target, query;
    if (!is_line(line) || !take_until(&line, ' ', &method) || !take_until(&line, ' ', &target))
        return false;
    if (!is_token(method) || !text_begins(target, TEXT("/")))
        return false;
    for (enum request_method known = METHOD_GET; known < countof(methods); known++)
        if (text_equal(method, text_of(methods[known])))
            request->method = known;
    query = target;
    if (!take_until(&query, '?', &request->path))
        request->path = target;
    return text_equal(line, TEXT("HTTP/1.1")) || text_equal(line, TEXT("HTTP/1.0"));
}

/* Notes a header that may come once. False: it came before, or is empty. */
static bool request_note(struct text *header, struct text value)
{
    if (header->size || !value.size)
        return false;
    *header = value;
    return true;
}

static bool parse_header(struct text line, struct request *request)
{
    struct text name;
    if (!is_line(line) || !take_until(&line, ':', &name) || !is_token(name))
        return false;
    const struct text value = text_trimmed(line);
    if (is_named(name, "Host"))
        return request_note(&request->host, value);
    if (is_named(name, "Origin"))
        return request_note(&request->origin, value);
    if (is_named(name, "Access-Control-Request-Private-Network"))
        request->private_network = is_named(value, "true");
    if (is_named(name, "Sec-Fetch-Site"))
        request->foreign |= !is_named(value, "same-origin") && !is_named(value, "none");
    if (is_named(name, "Transfer-Encoding") || (is_named(name, "Content-Length") && !text_equal(value, TEXT("0"))))
        request->body = true;
    return true;
}

/* Takes a line that ends in CR LF, and leaves the line without its end in *line. */
static bool take_line(struct text *rest, struct text *line)
{
    if (!take_until(rest, '\n', line) || !line->size || line->bytes[line->size - 1] != '\r')
        return false;
    line->size--;
    return true;
}

enum request_state request_parse(struct text bytes, struct request *request)
{
    const struct text seen = { bytes.bytes, bytes.size < REQUEST_MOST ? bytes.size : REQUEST_MOST };
    const char *end = seen.size ? memmem(seen.bytes, seen.size, "\r\n\r\n", 4) : NULL;
    struct text line;
    *request = (struct request){ 0 };
    if (!end)
        return bytes.size < REQUEST_MOST ? REQUEST_PARTIAL : REQUEST_LARGE;
    struct text head = { seen.bytes, (size_t)(end - seen.bytes) + 2 };
    if (!take_line(&head, &line) || !parse_first_line(line, request))
        return REQUEST_BAD;
    for (unsigned headers = 0; head.size; headers++) {
        if (headers == REQUEST_HEADERS)
            return REQUEST_LARGE;
        if (!take_line(&head, &line) || !parse_header(line, request))
            return REQUEST_BAD;
    }
    return REQUEST_WHOLE;
}
