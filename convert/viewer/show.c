/* SPDX-License-Identifier: MIT */
#include "convert/viewer/show.h"

#include "convert/viewer/browser.h"
#include "convert/viewer/server.h"
#include "formats/base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A profile that is being shown. */
struct showing {
    const struct shown *shown;
    struct server server;
    struct site site;
    char *origin, *by_url, *by_page; /* owned; the site has them, too */
    char page[128];                  /* the address of our own page */
    pid_t browser;                   /* 0: no browser was started, or it has ended */
};

/* Whether the profile is packed, and its size. */
static bool look_at_profile(struct site *site, int fd, struct fault *why)
{
    struct stat file;
    unsigned char magic[2] = { 0 };
    if (fstat(fd, &file) != 0 || pread(fd, magic, sizeof(magic), 0) < 0)
        return fault(why, "cannot read the profile: %s", strerror(errno));
    site->size = (uint64_t)file.st_size;
    site->gzip = magic[0] == 0x1F && magic[1] == 0x8B;
    return true;
}

static bool open_showing(struct showing *showing, struct fault *why)
{
    const struct shown *shown = showing->shown;
    char profile[160];
    if (!look_at_profile(&showing->site, shown->fd, why) || !server_open(&showing->server, why))
        return false;
    snprintf(showing->page, sizeof(showing->page), "http://127.0.0.1:%u/%s/", showing->server.port,
             showing->server.token);
    snprintf(profile, sizeof(profile), "%sprofile.json", showing->page);
    showing->origin = link_origin(shown->viewer);
    showing->by_url = link_from_url(shown->viewer, profile, shown->view, &shown->profile);
    showing->by_page = link_from_page(shown->viewer, shown->view, &shown->profile);
    showing->site.token = showing->server.token;
    showing->site.port = showing->server.port;
    showing->site.origin = showing->origin;
    showing->site.by_url = showing->by_url;
    showing->site.by_page = showing->by_page;
    return true;
}

static void close_showing(struct showing *showing)
{
    server_close(&showing->server);
    free(showing->origin);
    free(showing->by_url);
    free(showing->by_page);
}

/* The address is the only line on standard output, so a script can read it. */
static void print_address(const struct showing *showing)
{
    const struct shown *shown = showing->shown;
    if (!shown->quiet)
        fprintf(stderr, "%s: the profile waits for the viewer at this address; ^C ends that, nothing is uploaded:\n",
                shown->program);
    printf("%s\n", showing->by_url);
    fflush(stdout);
    if (!shown->quiet)
        fprintf(stderr,
                "%s: allow it when the browser asks whether the viewer may access this device (Chrome 142 and later); "
                "if the viewer cannot load the profile (Safari), open %s\n",
                shown->program, showing->page);
}

static void say_no_browser(const struct showing *showing)
{
    fprintf(stderr, "%s: no browser could be started (BROWSER names a command); open the address above yourself\n",
            showing->shown->program);
}

/* Notes a browser that has ended, and says so when it has shown nothing. */
static void child_ended(void *self)
{
    struct showing *showing = self;
    int status;
    if (showing->browser <= 0 || waitpid(showing->browser, &status, WNOHANG) != showing->browser)
        return;
    showing->browser = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        say_no_browser(showing);
}

/* Serves the profile. Notes in *number the signal that ended that before the profile was fetched. */
static bool serve(struct showing *showing, int *number, struct fault *why)
{
    const struct shown *shown = showing->shown;
    const struct server_hook hook = { child_ended, showing };
    const enum server_end end = server_run(&showing->server, &showing->site, shown->fd, &hook, number, why);
    if (end == SERVER_FETCHED && !shown->quiet)
        fprintf(stderr, "%s: the profile was fetched\n", shown->program);
    if (end == SERVER_INTERRUPTED)
        fprintf(stderr, "%s: ended before the profile was fetched\n", shown->program);
    return end == SERVER_FETCHED;
}

bool show_profile(const struct shown *shown, struct fault *why)
{
    struct showing showing = { .shown = shown };
    int number = 0;
    bool good = open_showing(&showing, why);
    if (good) {
        print_address(&showing);
        if (shown->browser && !(showing.browser = browser_start(showing.by_url)))
            say_no_browser(&showing);
        good = serve(&showing, &number, why);
    }
    close_showing(&showing);
    if (!good && number)
        raise(number);
    return good || fault(why, "ended by signal %d", number);
}
