/* SPDX-License-Identifier: MIT */
#include "record/tree/pid_cursor.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

pid_t pid_cursor_parse(const char *text, size_t size)
{
    while (size > 0 && text[size - 1] == '\n')
        size--;
    long number = 0, place = 1;
    while (size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9' && place < 1000000000) {
        number += place * (text[--size] - '0');
        place *= 10;
    }
    return size > 0 && text[size - 1] == ' ' && number <= INT_MAX ? (pid_t)number : 0;
}

static pid_t read_cursor(int file)
{
    char text[128];
    const ssize_t size = pread(file, text, sizeof(text), 0);
    return size > 0 ? pid_cursor_parse(text, (size_t)size) : 0;
}

void pid_cursor_open(struct pid_cursor *cursor)
{
    struct statfs system;
    *cursor = (struct pid_cursor){ .file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC) };
    if (cursor->file < 0)
        return;
    if (fstatfs(cursor->file, &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
        cursor->last = read_cursor(cursor->file);
    if (cursor->last == 0)
        pid_cursor_close(cursor);
}

void pid_cursor_close(struct pid_cursor *cursor)
{
    if (cursor->file >= 0)
        close(cursor->file);
    cursor->file = -1;
}

enum pid_cursor_state pid_cursor_look(struct pid_cursor *cursor, pid_t most, pid_t *first)
{
    const pid_t last = cursor->last, now = cursor->file >= 0 ? read_cursor(cursor->file) : 0;
    if (now == 0)
        return PID_CURSOR_UNKNOWN;
    cursor->last = now;
    *first = last + 1;
    if (now == last)
        return PID_CURSOR_SAME;
    return now < last || now - last > most ? PID_CURSOR_JUMPED : PID_CURSOR_MOVED;
}
