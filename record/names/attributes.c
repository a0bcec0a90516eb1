/* SPDX-License-Identifier: MIT */
#include "record/names/attributes.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"
#include "formats/model/event.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MOST        128        /* bytes of a name: a longer one is none */
#define VALUE_MOST       512        /* bytes of a value: a longer one is cut */
#define ROWS_MOST        1000       /* attributes that are looked at: each takes the longer the more are there */
#define CGROUP_MOST      16384      /* bytes of /proc/PID/cgroup */
#define ENVIRONMENT_MOST (4u << 20) /* bytes of /proc/PID/environ: Linux takes 2 MiB of arguments by default */
#define CONTAINER_DIGITS 64
#define POD_LETTERS      36 /* of a UUID; without the four - of some static pods: 32 */

static void put_attribute_line(struct bytes *to, struct text name, struct text value)
{
    put_bytes(to, name.bytes, name.size);
    put_string(to, "=");
    put_bytes(to, value.bytes, value.size);
    put_string(to, "\n");
}

/* ---- the cgroup ---- */

/* The path of the cgroup: that of version 2, unless it is the root; else the first other one. */
static struct text find_path(const char *text)
{
    struct text found = { 0 };
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        const size_t size = path ? strcspn(path + 1, "\n") : 0;
        if (size < 2 || size > PATH_MAX)
            continue;
        if (controllers[1] == ':')
            return (struct text){ path + 1, size };
        if (found.size == 0)
            found = (struct text){ path + 1, size };
    }
    return found;
}

/* The last row of exactly 64 hexadecimal digits: docker-ID.scope, /docker/ID, cri-containerd-ID.scope, crio-ID. */
static struct text find_container(struct text path)
{
    struct text found = { 0 };
    for (size_t begin = 0, i = 0; i <= path.size; i++) {
        if (i < path.size && isxdigit((unsigned char)path.bytes[i]))
            continue;
        if (i - begin == CONTAINER_DIGITS)
            found = (struct text){ path.bytes + begin, CONTAINER_DIGITS };
        begin = i + 1;
    }
    return found;
}

/* The UUID behind "pod". Returns its length; 0: the path has none. */
static size_t find_pod(struct text path, char pod[POD_LETTERS])
{
    for (size_t at = 0; at + 3 < path.size; at++) {
        size_t size = 0, digits = 0;
        if (memcmp(path.bytes + at, "pod", 3) != 0)
            continue;
        for (size_t i = at + 3; i < path.size && size < POD_LETTERS; i++, size++) {
            const char letter = path.bytes[i] == '_' ? '-' : path.bytes[i];
            if (!isxdigit((unsigned char)letter) && letter != '-')
                break;
            digits += letter != '-';
            pod[size] = letter;
        }
        if (digits == 32)
            return size;
    }
    return 0;
}

void attributes_put_cgroup(struct bytes *to, const char *text)
{
    char pod[POD_LETTERS];
    const struct text path = find_path(text);
    const struct text container = find_container(path);
    const size_t pod_size = find_pod(path, pod);
    if (path.size == 0)
        return;
    const struct text shown = utf8_clean((struct text){ path.bytes, path.size < VALUE_MOST ? path.size : VALUE_MOST });
    put_attribute_line(to, TEXT("process.linux.cgroup"), shown);
    text_free(shown);
    if (container.size)
        put_attribute_line(to, TEXT("container.id"), container);
    if (pod_size)
        put_attribute_line(to, TEXT("k8s.pod.uid"), (struct text){ pod, pod_size });
}

/* ---- the environment ---- */

/* Finds a variable. Its value has no bytes when the variable is not there. */
static struct text find_variable(struct text environment, struct text name)
{
    const char *end = environment.bytes + environment.size;
    for (const char *at = environment.bytes; at && at < end;) {
        const char *zero = memchr(at, '\0', (size_t)(end - at));
        const struct text row = { at, (size_t)((zero ? zero : end) - at) };
        if (text_begins(row, name) && row.size > name.size && at[name.size] == '=')
            return (struct text){ at + name.size + 1, row.size - name.size - 1 };
        at += row.size + 1;
    }
    return (struct text){ 0 };
}

static int hexadecimal_of(char letter)
{
    return isdigit((unsigned char)letter) ? letter - '0' : tolower((unsigned char)letter) - 'a' + 10;
}

/* The value as UTF-8, without %XX if `percent`, and without newlines, which end a line here. Owned. */
static struct text attribute_value_of(struct text raw, bool percent)
{
    char plain[VALUE_MOST];
    size_t size = 0;
    for (size_t i = 0; i < raw.size && size < sizeof(plain); i++) {
        char letter = raw.bytes[i];
        if (percent && letter == '%' && i + 2 < raw.size && isxdigit((unsigned char)raw.bytes[i + 1]) &&
            isxdigit((unsigned char)raw.bytes[i + 2])) {
            letter = (char)(hexadecimal_of(raw.bytes[i + 1]) * 16 + hexadecimal_of(raw.bytes[i + 2]));
            i += 2;
        }
        plain[size++] = letter == '\n' || letter == '\0' ? ' ' : letter;
    }
    return utf8_clean((struct text){ plain, size });
}

/* A name as the conventions have them: letters, digits, and . _ - between them. */
static bool is_attribute_name(struct text name)
{
    for (size_t i = 0; i < name.size; i++)
        if (!isalnum((unsigned char)name.bytes[i]) && !strchr("._-/", name.bytes[i]))
            return false;
    return name.size > 0 && name.size <= NAME_MOST;
}

/* Whether a line with this name is there. */
static bool has_attribute(const struct bytes *lines, struct text name)
{
    const char *at = (const char *)lines->at, *end = at + lines->size;
    for (; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        if (text_begins((struct text){ at, (size_t)(end - at) }, name) && at[name.size] == '=')
            return true;
    return false;
}

/* Adds one attribute, the first of its name. Returns false when there is no room. */
static bool put_first_attribute(struct bytes *to, struct text name, struct text raw, bool percent)
{
    const struct text value = attribute_value_of(raw, percent);
    const bool fits = to->size + name.size + value.size + 2 <= ATTRIBUTES_MOST;
    if (fits && is_attribute_name(name) && value.size && !has_attribute(to, name))
        put_attribute_line(to, name, value);
    text_free(value);
    return fits;
}

/* Attributes that one source offers. */
struct offers {
    struct bytes *to;
    size_t rows, left_out;
};

static void offer_attribute(struct offers *offers, struct text name, struct text raw, bool percent)
{
    const bool looked_at = offers->rows++ < ROWS_MOST;
    offers->left_out += !looked_at || !put_first_attribute(offers->to, name, raw, percent);
}

static void put_left_out_count(const struct offers *offers)
{
    char count[32];
    const int size = snprintf(count, sizeof(count), "%zu", offers->left_out);
    if (offers->left_out && !has_attribute(offers->to, TEXT("pyreel.attributes_left_out")))
        put_attribute_line(offers->to, TEXT("pyreel.attributes_left_out"), (struct text){ count, (size_t)size });
}

void attributes_put_published(struct bytes *to, struct text published)
{
    struct offers offers = { .to = to };
    struct text name, value;
    while (process_take_attribute(&published, &name, &value))
        offer_attribute(&offers, name, value, false);
    put_left_out_count(&offers);
}

void attributes_put_environment(struct bytes *to, struct text environment)
{
    struct text rest = find_variable(environment, TEXT("OTEL_RESOURCE_ATTRIBUTES"));
    const struct text service = find_variable(environment, TEXT("OTEL_SERVICE_NAME"));
    struct offers offers = { .to = to, .left_out = !put_first_attribute(to, TEXT("service.name"), service, false) };
    while (rest.size) {
        const char *comma = memchr(rest.bytes, ',', rest.size);
        const struct text row = { rest.bytes, comma ? (size_t)(comma - rest.bytes) : rest.size };
        const char *equals = row.size ? memchr(row.bytes, '=', row.size) : NULL;
        const size_t name = equals ? (size_t)(equals - row.bytes) : 0;
        if (equals)
            offer_attribute(&offers, text_trimmed((struct text){ row.bytes, name }),
                            text_trimmed((struct text){ equals + 1, row.size - name - 1 }), true);
        const size_t taken = row.size + (comma != NULL);
        rest = (struct text){ rest.bytes + taken, rest.size - taken };
    }
    put_left_out_count(&offers);
}

/* ---- a process ---- */

/* Reads a file of /proc with a NUL behind it. The kernel gives a page of an environment at a time. */
static struct bytes read_file(pid_t pid, const char *name, size_t most)
{
    char path[64];
    struct bytes read_so_far = { 0 };
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    char room[4096];
    for (ssize_t size; file >= 0 && read_so_far.size < most && (size = read(file, room, sizeof(room))) > 0;)
        put_bytes(&read_so_far, room, (size_t)size);
    if (file >= 0)
        close(file);
    put_bytes(&read_so_far, "", 1);
    return read_so_far;
}

struct text attributes_of(pid_t pid, struct text published)
{
    struct bytes lines = { 0 };
    struct bytes cgroup = read_file(pid, "cgroup", CGROUP_MOST);
    struct bytes environment = read_file(pid, "environ", ENVIRONMENT_MOST);
    attributes_put_cgroup(&lines, (const char *)cgroup.at);
    attributes_put_published(&lines, published);
    attributes_put_environment(&lines, bytes_text(&environment));
    const struct text attributes = lines.size ? text_copy(bytes_text(&lines)) : (struct text){ 0 };
    bytes_free(&cgroup);
    bytes_free(&environment);
    bytes_free(&lines);
    return attributes;
}
