/* SPDX-License-Identifier: MIT */
#include "record/launch/control.h"

#include "formats/base/alloc.h"
#include "formats/base/replaced.h"
#include "formats/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SCHEME  "fifo:"
#define DEAF_NS 4000000u  /* after a look, what comes waits for so long */
#define LOOK_NS 10000000u /* a recorder that never sleeps looks so often */

static const char *const command_names[CONTROL_COMMANDS] = {
    [CONTROL_ENABLE] = "enable", [CONTROL_DISABLE] = "disable",   [CONTROL_STOP] = "stop",
    [CONTROL_PING] = "ping",     [CONTROL_SNAPSHOT] = "snapshot",
};

/* ---- the fifos ---- */

bool control_is_named(const char *text)
{
    const size_t size = strlen(SCHEME);
    return strncmp(text, SCHEME, size) == 0 && text[size] != '\0' && text[size] != ',' && text[strlen(text) - 1] != ',';
}

/* Opens a fifo. The file is looked at first: to open something else could have an effect. Returns -1 with the reason.
 */
static int open_fifo(const char *path, struct fault *why)
{
    struct stat there;
    const int seen = open(path, O_PATH | O_CLOEXEC);
    int fd = -1;
    if (seen < 0 || fstat(seen, &there) != 0)
        fault(why, "cannot open the fifo %s of --control: %s%s", path, strerror(errno),
              errno == ENOENT ? "; make it first, with mkfifo" : "");
    else if (!S_ISFIFO(there.st_mode))
        fault(why, "cannot use %s for --control: it is no fifo; make one with mkfifo", path);
    else if (replaced_is_strange_pipe(path, &there))
        fault(why, "cannot use %s for --control: another user put it into a folder that everyone can write to", path);
    else if ((fd = replaced_open_seen(seen, path, O_RDWR | O_NONBLOCK)) < 0)
        fault(why, "cannot open the fifo %s of --control: %s", path, strerror(errno));
    if (seen >= 0)
        close(seen);
    return fd;
}

bool control_open(struct control *control, const char *text, struct fault *why)
{
    char *path = alloc_copy(text + strlen(SCHEME), strlen(text) - strlen(SCHEME));
    char *comma = strchr(path, ',');
    if (comma)
        *comma = '\0';
    *control = (struct control){ .fd = open_fifo(path, why), .answers = -1 };
    control->open = control->fd >= 0;
    if (control->open && flock(control->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        control->open = fault(why, "cannot use %s for --control: another pyreel-record reads it", path);
    if (control->open && comma)
        control->open = (control->answers = open_fifo(comma + 1, why)) >= 0;
    if (!control->open && control->fd >= 0)
        close(control->fd);
    free(path);
    return control->open;
}

int control_waking_fd(const struct control *control, uint64_t now_ns, uint64_t *until_ns)
{
    if (!control->open || control->readable || control->pending)
        return -1;
    if (now_ns >= control->deaf_ns)
        return control->fd;
    *until_ns = *until_ns < control->deaf_ns ? *until_ns : control->deaf_ns;
    return -1;
}

/* ---- lines ---- */

/* Reads what has come, as far as there is room. */
static void take_bytes(struct control *control)
{
    memmove(control->bytes, control->bytes + control->at, control->size -= control->at);
    control->at = 0;
    const ssize_t got = read(control->fd, control->bytes + control->size, sizeof(control->bytes) - control->size);
    control->size += got > 0 ? (size_t)got : 0;
}

/* Takes the next line out of what was read, without blanks at its ends. *cut: it was longer than `line` has room for.
 * False: there is no whole line. */
static bool control_take_line(struct control *control, char line[CONTROL_LINE], bool *cut)
{
    const char *from = control->bytes + control->at;
    const size_t left = control->size - control->at;
    const char *end = left ? memchr(from, '\n', left) : NULL;
    const size_t size = end ? (size_t)(end - from) : left;
    *cut = control->cut || size >= CONTROL_LINE;
    if (!end) {
        if (*cut) /* its beginning is of no use */
            control->at = control->size;
        control->cut = *cut;
        return false;
    }
    control->at += size + 1;
    control->cut = false;
    snprintf(line, CONTROL_LINE, "%.*s", (int)(size < CONTROL_LINE ? size : CONTROL_LINE - 1), from);
    const size_t used = strcspn(line, " \t\r");
    if (line[used + strspn(line + used, " \t\r")] == '\0')
        line[used] = '\0';
    return true;
}

static enum control_command command_of(const char *line, bool cut, struct fault *why)
{
    for (enum control_command c = CONTROL_NONE + 1; !cut && c < CONTROL_COMMANDS; c++)
        if (command_names[c] && strcmp(line, command_names[c]) == 0)
            return c;
    if (cut)
        fault(why, "a line has more than %d bytes", CONTROL_LINE - 1);
    else
        fault(why, "there is no command '%s'; there are enable, disable, stop, ping and snapshot", utf8_shown(line));
    return CONTROL_UNKNOWN;
}

enum control_command control_next(struct control *control, uint64_t now_ns, struct fault *why)
{
    char line[CONTROL_LINE];
    bool cut;
    if (!control->open || control->pending)
        return CONTROL_NONE;
    while (control_take_line(control, line, &cut))
        if (cut || line[0] != '\0')
            return control->pending = command_of(line, cut, why);
    if (!control->readable && now_ns < control->look_ns)
        return CONTROL_NONE;
    control->readable = false;
    control->deaf_ns = now_ns + DEAF_NS;
    control->look_ns = now_ns + LOOK_NS;
    take_bytes(control);
    while (control_take_line(control, line, &cut))
        if (cut || line[0] != '\0')
            return control->pending = command_of(line, cut, why);
    return CONTROL_NONE;
}

void control_answer(struct control *control, const char *error)
{
    char text[512]; /* less than what a pipe takes in one piece */
    control->pending = CONTROL_NONE;
    if (!control->open || control->answers < 0)
        return;
    const int size = error ? snprintf(text, sizeof(text), "error %s", error) : snprintf(text, sizeof(text), "ack");
    const size_t used = (size_t)size < sizeof(text) - 1 ? (size_t)size : sizeof(text) - 2;
    for (size_t i = 0; i < used; i++) /* an answer is a line, whatever a message has */
        text[i] = text[i] == '\n' ? ' ' : text[i];
    text[used] = '\n';
    const ssize_t done = write(control->answers, text, used + 1);
    (void)done; /* a full fifo: nobody reads the answers */
}

void control_close(struct control *control)
{
    struct fault unused = { 0 };
    if (!control->open)
        return;
    if (control->pending)
        control_answer(control, control->pending == CONTROL_STOP ? NULL : "the recording is over");
    for (size_t i = 0; i < sizeof(control->bytes); i++) { /* a writer that never ends is left at last */
        control->readable = true;
        const enum control_command command = control_next(control, 0, &unused);
        if (command == CONTROL_NONE)
            break;
        const bool done = command == CONTROL_STOP || command == CONTROL_DISABLE || command == CONTROL_PING;
        control_answer(control, done ? NULL : "the recording is over");
    }
    close(control->fd);
    if (control->answers >= 0)
        close(control->answers);
    *control = (struct control){ 0 };
}
