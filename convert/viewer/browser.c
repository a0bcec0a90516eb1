/* SPDX-License-Identifier: MIT */
#include "convert/viewer/browser.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MOST 32 /* of a command */
#define FAILED     127

static const char usual[] = "xdg-open:x-www-browser:sensible-browser:wslview:firefox:chromium:google-chrome";

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

/* The commands to try; NULL: none. */
static const char *commands(void)
{
    if (is_set("BROWSER"))
        return getenv("BROWSER");
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("WSL_DISTRO_NAME") ? usual : NULL;
}

/* Copies a word with the address in the place of "%s". Notes that the address has its place. */
static char *make_word(const char *word, size_t size, const char *address, bool *placed)
{
    struct bytes made = { 0 };
    for (size_t i = 0; i < size; i++) {
        if (i + 1 < size && word[i] == '%' && word[i + 1] == 's') {
            put_string(&made, address);
            *placed = true;
            i++;
        } else {
            put_bytes(&made, word + i, 1);
        }
    }
    put_bytes(&made, "", 1);
    return (char *)made.at;
}

/* Becomes the command if the command exists. Only in the child, which ends or becomes another program. */
static void browser_become(struct text command, const char *address)
{
    static const char blanks[] = " \t";
    char *words[WORDS_MOST + 2] = { 0 };
    size_t count = 0;
    bool placed = false;
    for (size_t at = 0; at < command.size && count < WORDS_MOST;) {
        size_t end = at;
        while (end < command.size && !strchr(blanks, command.bytes[end]))
            end++;
        if (end > at)
            words[count++] = make_word(command.bytes + at, end - at, address, &placed);
        at = end + 1;
    }
    if (count == 0)
        return;
    if (!placed)
        words[count] = alloc_copy(address, strlen(address));
    execvp(words[0], words);
}

/* Gives the child no terminal, and the signals as a new program expects them. */
static void stand_alone(void)
{
    const int nothing = open("/dev/null", O_RDWR);
    sigset_t none;
    sigemptyset(&none);
    setsid();
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
}

pid_t browser_start(const char *address)
{
    const char *rest = commands();
    const pid_t child = rest ? fork() : 0;
    if (!rest || child != 0)
        return child > 0 ? child : 0;
    stand_alone();
    while (*rest) {
        const size_t size = strcspn(rest, ":");
        browser_become((struct text){ rest, size }, address);
        rest += size + (rest[size] == ':');
    }
    _exit(FAILED);
}
