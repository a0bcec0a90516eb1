/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "convert/top/terminal.h"

#include "formats/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <term.h>
#include <unistd.h>

/* term.h has macros for everything that terminals can do. */
#undef columns
#undef lines

static struct {
    bool open;
    char *descriptions; /* the folder with the description of the terminal, owned; NULL: the machine has one */
    FILE *keys;
    SCREEN *screen;
    bool colours;
    int stderr_fd; /* standard error, while messages are kept; -1 otherwise */
    int kept;      /* the file in memory */
} terminal = { .stderr_fd = -1, .kept = -1 };

/* ---- messages ---- */

static void keep_messages(void)
{
    terminal.kept = memfd_create("pyreel-top messages", MFD_CLOEXEC);
    if (terminal.kept < 0)
        return;
    fflush(stderr);
    terminal.stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    dup2(terminal.kept, STDERR_FILENO);
}

static void print_messages(void)
{
    char bytes[4096];
    ssize_t got;
    if (terminal.stderr_fd < 0)
        return;
    fflush(stderr);
    dup2(terminal.stderr_fd, STDERR_FILENO);
    close(terminal.stderr_fd);
    terminal.stderr_fd = -1;
    lseek(terminal.kept, 0, SEEK_SET);
    while ((got = read(terminal.kept, bytes, sizeof(bytes))) > 0)
        fwrite(bytes, 1, (size_t)got, stderr);
    close(terminal.kept);
}

/* ---- opening ---- */

/* Lets ncurses show UTF-8 where the user's terminal can, whether or not the machine has the user's locale. */
static void choose_locale(void)
{
    setlocale(LC_ALL, "");
    if (!screen_of(STDOUT_FILENO).ascii && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    setlocale(LC_NUMERIC, "C");
}

static void choose_colours(void)
{
    terminal.colours = screen_of(STDOUT_FILENO).colours && has_colors();
    if (!terminal.colours)
        return;
    start_color();
    use_default_colors();
    init_pair(STYLE_TITLE, COLOR_CYAN, -1);
    init_pair(STYLE_HOT, COLOR_RED, -1);
    init_pair(STYLE_WARM, COLOR_YELLOW, -1);
    init_pair(STYLE_ALERT, COLOR_MAGENTA, -1);
}

static FILE *open_keys(void)
{
    if (isatty(STDIN_FILENO))
        return fdopen(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), "r");
    return fopen("/dev/tty", "re");
}

/* Sets the folders in which ncurses looks for descriptions; NULL: its own ones. Returns what was set, owned. */
static char *exchange_folders(const char *folders)
{
    const char *const set = getenv("TERMINFO_DIRS");
    char *const before = set ? alloc_copy(set, strlen(set)) : NULL;
    if (folders)
        setenv("TERMINFO_DIRS", folders, 1);
    else
        unsetenv("TERMINFO_DIRS");
    return before;
}

/* Gives ncurses the folder of the description. The program that is recorded does not see that. */
static char *enter_descriptions(void)
{
    return terminal.descriptions ? exchange_folders(terminal.descriptions) : NULL;
}

static void leave_descriptions(char *before)
{
    if (terminal.descriptions)
        free(exchange_folders(before));
    free(before);
}

static bool is_described(void)
{
    char *const before = enter_descriptions();
    int known;
    const bool found = setupterm(NULL, STDOUT_FILENO, &known) == OK;
    const bool suits = found && cursor_address;
    if (found)
        del_curterm(cur_term);
    leave_descriptions(before);
    return suits;
}

/* The folder PREFIX/share/terminfo of PREFIX/bin/pyreel-top, owned; NULL: there is none. */
static char *own_descriptions(void)
{
    static const char below[] = "/share/terminfo";
    char path[PATH_MAX + sizeof(below)];
    const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
    path[size > 0 ? size : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *const slash = strrchr(path, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    strcat(path, below);
    return alloc_copy(path, strlen(path));
}

bool terminal_suits(struct fault *why)
{
    const char *type = getenv("TERM");
    if (is_described())
        return true;
    /* Machines without ncurses lack descriptions. Some come with the static programs. */
    terminal.descriptions = own_descriptions();
    if (terminal.descriptions && is_described())
        return true;
    return fault(why, "ncurses cannot draw on a terminal %s; set TERM, or use --batch", type ? type : "without TERM");
}

bool terminal_open(struct fault *why)
{
    static bool exits;
    choose_locale();
    terminal.keys = open_keys();
    if (!terminal.keys)
        return fault(why, "there is no terminal for keys (/dev/tty): %s", strerror(errno));
    char *const before = enter_descriptions();
    terminal.screen = newterm(NULL, stdout, terminal.keys);
    leave_descriptions(before);
    if (!terminal.screen) {
        fclose(terminal.keys);
        return fault(why, "ncurses cannot use the terminal");
    }
    set_term(terminal.screen);
    terminal.open = true;
    if (!exits)
        atexit(terminal_close);
    exits = true;
    keep_messages();
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    set_escdelay(25);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    choose_colours();
    return true;
}

int terminal_keys(void)
{
    return fileno(terminal.keys);
}

void terminal_size(size_t *columns, size_t *lines)
{
    *columns = (size_t)COLS;
    *lines = (size_t)LINES;
}

/* ---- showing ---- */

static attr_t attributes_of(enum screen_style style)
{
    static const attr_t plain[STYLES] = {
        [STYLE_TITLE] = A_BOLD, [STYLE_COLUMNS] = A_REVERSE, [STYLE_SELECTED] = A_REVERSE | A_BOLD,
        [STYLE_HOT] = A_BOLD,   [STYLE_ALERT] = A_BOLD,      [STYLE_FOOT] = A_DIM,
    };
    const bool coloured = style == STYLE_TITLE || style == STYLE_HOT || style == STYLE_WARM || style == STYLE_ALERT;
    return plain[style] | (terminal.colours && coloured ? (attr_t)COLOR_PAIR((int)style) : 0);
}

void terminal_show(const struct drawn *drawn)
{
    erase();
    for (size_t i = 0; i < drawn->count && i < (size_t)LINES; i++) {
        const struct screen_line *line = &drawn->lines[i];
        attrset((int)attributes_of(line->style));
        mvaddnstr((int)i, 0, line->text.size ? (const char *)line->text.at : "", (int)line->text.size);
    }
    attrset(A_NORMAL);
    move(0, 0); /* behind the last column, terminals differ in where the cursor is */
    refresh();
}

/* ---- keys ---- */

static uint32_t key_of(int code)
{
    static const struct {
        int code;
        uint32_t key;
    } keys[] = {
        { KEY_UP, VIEW_KEY_UP },           { KEY_DOWN, VIEW_KEY_DOWN },      { KEY_PPAGE, VIEW_KEY_PAGE_UP },
        { KEY_NPAGE, VIEW_KEY_PAGE_DOWN }, { KEY_HOME, VIEW_KEY_HOME },      { KEY_END, VIEW_KEY_END },
        { KEY_ENTER, VIEW_KEY_ENTER },     { KEY_BACKSPACE, VIEW_KEY_BACK },
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].code == code)
            return keys[i].key;
    return 0;
}

static uint32_t key_of_character(wint_t character)
{
    switch (character) {
    case '\r':
    case '\n':
        return VIEW_KEY_ENTER;
    case '\t':
        return VIEW_KEY_TAB;
    case '\b':
    case 0x7F:
        return VIEW_KEY_BACK;
    case 0x1B:
        return VIEW_KEY_ESCAPE;
    default:
        return character < ' ' ? 0 : character;
    }
}

bool terminal_key(uint32_t *key, bool *resized)
{
    wint_t code;
    const int kind = get_wch(&code);
    if (kind == ERR)
        return false;
    *resized = kind == KEY_CODE_YES && code == KEY_RESIZE;
    *key = kind == KEY_CODE_YES ? key_of((int)code) : key_of_character(code);
    return true;
}

void terminal_close(void)
{
    if (!terminal.open)
        return;
    terminal.open = false;
    endwin();
    delscreen(terminal.screen);
    fclose(terminal.keys);
    print_messages();
}
