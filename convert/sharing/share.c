/* SPDX-License-Identifier: MIT */
#include "convert/sharing/share.h"

#include "convert/sharing/receipt.h"
#include "convert/sharing/store.h"
#include "convert/sharing/store_answer.h"
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHARE_SERVER   "https://api.profiler.firefox.com"
#define SHARE_PATIENCE ((uint64_t)60000000000)

struct share {
    struct share_wishes wishes;
    struct address server;
    struct receipt_file receipt;
    struct store_upload *upload;
};

static const char *viewer_of(const struct share_wishes *wishes)
{
    return wishes->viewer ? wishes->viewer : LINK_VIEWER;
}

/* Parses the URL of the store. False with the reason. */
static bool find_server(const struct share_wishes *wishes, struct address *server, struct fault *why)
{
    return address_parse_server(server, wishes->server ? wishes->server : SHARE_SERVER, "the URL of --server", why);
}

static struct store store_of(const struct share_wishes *wishes, const struct address *server)
{
    return (struct store){
        .server = server->url,
        .limit_bytes = wishes->limit_bytes ? wishes->limit_bytes : SHARE_LIMIT,
        .patience_ns = wishes->timeout_ns ? wishes->timeout_ns : SHARE_PATIENCE,
        .progress = !wishes->quiet && isatty(STDERR_FILENO) ? wishes->program : NULL,
    };
}

/* The token in a link, https://profiler.firefox.com/public/TOKEN/..., or the token alone. The caller frees it. NULL
 * with the reason when there is none. */
static char *link_token(const char *link, struct fault *why)
{
    const char *public = strstr(link, "/public/");
    const char *token = public ? public + strlen("/public/") : link;
    const struct text text = { token, strcspn(token, public ? "/?#" : "") };
    if (store_answer_is_token(text))
        return alloc_copy(text.bytes, text.size);
    fault(why, "--delete takes the link that --upload printed: %s/public/TOKEN", LINK_VIEWER);
    return NULL;
}

bool share_check(const struct share_wishes *wishes, struct fault *why)
{
    struct address server, target;
    if (!find_server(wishes, &server, why))
        return false;
    address_free(&server);
    char *token = wishes->delete_link ? link_token(wishes->delete_link, why) : NULL;
    free(token);
    if (wishes->delete_link && !token)
        return false;
    if (!wishes->link_for)
        return true;
    const bool good = address_parse(&target, wishes->link_for, "the URL of --link-for", why);
    address_free(&target);
    return good;
}

static void warn(const struct share_wishes *wishes, const char *text)
{
    fprintf(stderr, "%s: warning: %s\n", wishes->program, utf8_shown(text));
}

static void warn_of_plain_text(const struct share_wishes *wishes, const struct address *server)
{
    if (!server->encrypted && !server->loopback)
        warn(wishes,
             "the server's address is http: everybody on the way can read what is sent, and take the proof that "
             "the profile is yours; use https");
}

/* ---- links ---- */

/* Prints a link on standard output. */
static bool print_link(const char *link, struct fault *why)
{
    return (printf("%s\n", link) >= 0 && fflush(stdout) == 0) ||
           fault(why, "cannot write to standard output: %s. The link is %s", strerror(errno), link);
}

static int print_link_for(const struct share_wishes *wishes)
{
    struct fault why = { 0 };
    struct address target;
    if (!address_parse(&target, wishes->link_for, "the URL of --link-for", &why)) {
        fprintf(stderr, "%s: %s\n", wishes->program, why.text);
        return EXIT_FAILURE;
    }
    if (!target.encrypted && !target.loopback && strncmp(viewer_of(wishes), "https:", 6) == 0)
        warn(wishes, "the viewer is a page of https, and browsers let such a page load nothing over http; serve the "
                     "profile with https");
    char *link = link_from_url(viewer_of(wishes), target.url, wishes->view, &(struct link_profile){ 0 });
    const bool good = print_link(link, &why);
    if (!good)
        fprintf(stderr, "%s: %s\n", wishes->program, why.text);
    free(link);
    address_free(&target);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Whether this program can talk to a store. */
static bool can_share(struct fault *why)
{
    return LOADS_LIBRARIES ||
           fault(why, "static programs cannot share profiles; use the package, or build pyreel without -Dstatic=true");
}

/* ---- deletion ---- */

/* Deletes a profile that we own, and forgets the proof. */
static bool delete_with(const struct share_wishes *wishes, const struct receipt *receipt, struct fault *why)
{
    struct address server;
    if (!address_parse_server(&server, receipt->server, "the server", NULL))
        return fault(why, "cannot delete the profile: %s is damaged", receipt->path);
    warn_of_plain_text(wishes, &server);
    const struct store store = store_of(wishes, &server);
    const enum store_deleted deleted = store_delete(&store, receipt->token, receipt->proof, why);
    if (deleted == STORE_HAS_NONE)
        fault(why, "%s has no such profile any more: it was deleted, or its time is over. The proof stays in %s",
              server.url, receipt->path);
    address_free(&server);
    return deleted == STORE_DELETED && receipt_remove(receipt, why);
}

static bool delete_link(const struct share_wishes *wishes, struct fault *why)
{
    struct address server = { 0 };
    struct receipt receipt = { 0 };
    char *token = can_share(why) ? link_token(wishes->delete_link, why) : NULL;
    const bool good = token && (!wishes->server || find_server(wishes, &server, why)) &&
                      receipt_find(&receipt, token, server.url, why) && delete_with(wishes, &receipt, why);
    if (good && !wishes->quiet)
        fprintf(stderr, "%s: deleted %s\n", wishes->program, utf8_shown(receipt.link));
    receipt_free(&receipt);
    address_free(&server);
    free(token);
    return good;
}

/* ---- before anything is read ---- */

/* Whether an upload is possible: this build can, and its proof can be kept. */
static bool can_upload(struct fault *why)
{
    struct receipt_file file = { 0 };
    const bool good = can_share(why) && receipt_begin(&file, why);
    receipt_abandon(&file);
    return good;
}

int share_first(const struct share_wishes *wishes)
{
    struct fault why = { 0 };
    bool good = true;
    if (wishes->link_for)
        return print_link_for(wishes);
    if (wishes->delete_link)
        good = delete_link(wishes, &why);
    else if (wishes->upload)
        good = can_upload(&why);
    if (!good)
        fprintf(stderr, "%s: %s\n", wishes->program, why.text);
    if (!good || wishes->delete_link)
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
    return -1;
}

/* ---- uploads ---- */

static void say_what_is_shown(const struct share_wishes *wishes, const struct address *server,
                              const struct tables *tables, struct disclosed_sources sources)
{
    if (wishes->quiet)
        return;
    fprintf(stderr, "%s: uploading to %s; everybody who has the link will see\n", wishes->program,
            utf8_shown(server->url));
    disclosed_print(stderr, tables, sources);
    if (!wishes->sanitized)
        fprintf(stderr,
                "    (--sanitize leaves out command lines, the host, users, and the folders above your code)\n");
}

static void share_free(struct share *share)
{
    receipt_abandon(&share->receipt);
    address_free(&share->server);
    free(share);
}

/* Begins an upload. *body is what to write to. */
static struct share *share_begin_upload(const struct share_wishes *wishes, const struct tables *tables,
                                        struct disclosed_sources sources, int *body, struct fault *why)
{
    struct share *share = alloc_zeroed(1, sizeof(*share));
    share->wishes = *wishes;
    if (find_server(wishes, &share->server, why) && receipt_begin(&share->receipt, why)) {
        const struct store store = store_of(wishes, &share->server);
        say_what_is_shown(wishes, &share->server, tables, sources);
        warn_of_plain_text(wishes, &share->server);
        share->upload = store_upload_begin(&store, body, why);
    }
    if (share->upload)
        return share;
    share_free(share);
    return NULL;
}

struct share *share_begin(const struct share_wishes *wishes, const struct tables *tables,
                          struct disclosed_sources sources, struct output *output, struct fault *why)
{
    int body;
    struct share *share = share_begin_upload(wishes, tables, sources, &body, why);
    if (share)
        output_open_fd(output, body, "the upload", true);
    return share;
}

static void cut(struct share *share, struct fault *why)
{
    store_upload_cut(share->upload, why);
    share_free(share);
}

void share_cut(struct share *share, struct output *output)
{
    output_abandon(output);
    cut(share, NULL);
}

/* Takes back a profile whose proof cannot be kept. */
static void share_take_back_profile(const struct share *share, const struct store_answer *answer, struct fault *why)
{
    struct fault cause = { 0 };
    const struct fault first = *why;
    const struct store store = store_of(&share->wishes, &share->server);
    *why = (struct fault){ 0 };
    if (store_delete(&store, answer->token, answer->proof, &cause) == STORE_DELETED)
        fault(why, "%.500s. The profile was deleted again", first.text);
    else
        fault(why,
              "%.400s. The profile stays in the store, under the token %s, because it could not be deleted: %.300s",
              first.text, answer->token, cause.text);
}

/* The link without a view, which a shell takes without quotes. The caller frees it. */
static char *plain_link(const struct share_wishes *wishes, const char *token)
{
    char *link;
    const char *viewer = viewer_of(wishes);
    const size_t size = strlen(viewer) - (viewer[strlen(viewer) - 1] == '/');
    return asprintf(&link, "%.*s/public/%s", (int)size, viewer, token) < 0 ? alloc_copy(token, strlen(token)) : link;
}

static void say_how_to_delete(const struct share *share, const char *link)
{
    const struct share_wishes *wishes = &share->wishes;
    if (wishes->server && !wishes->viewer)
        warn(wishes,
             "the link is for a viewer that reads from the Firefox Profiler's own store; name the viewer of your "
             "store with --profiler-url");
    if (!wishes->quiet)
        fprintf(stderr, "%s: to take the profile back: pyreel-gecko --delete %s\n", wishes->program, utf8_shown(link));
}

/* Keeps the proof, then prints the link. */
static bool announce(struct share *share, const struct store_answer *answer, const struct link_profile *profile,
                     struct fault *why)
{
    char *link = plain_link(&share->wishes, answer->token);
    char *viewed = link_public(viewer_of(&share->wishes), answer->token, share->wishes.view, profile);
    const struct receipt receipt = {
        .server = share->server.url, .token = answer->token, .proof = answer->proof, .link = link
    };
    bool good = receipt_end(&share->receipt, &receipt, why);
    if (!good) {
        share_take_back_profile(share, answer, why);
    } else {
        say_how_to_delete(share, link);
        good = print_link(viewed, why);
    }
    free(link);
    free(viewed);
    return good;
}

/* Ends an upload whose body is whole. */
static bool share_end_upload(struct share *share, const struct link_profile *profile, struct fault *why)
{
    struct bytes body = { 0 };
    struct store_answer answer = { 0 };
    const bool sent = store_upload_end(share->upload, &body, why);
    const struct text text = { (const char *)body.at, body.size };
    struct fault cause = { 0 };
    bool good = sent && (store_answer_read(&answer, text, &cause) ||
                         fault(why, "cannot upload to %s: %s", share->server.url, cause.text));
    bytes_free(&body);
    good = good && announce(share, &answer, profile, why);
    store_answer_free(&answer);
    share_free(share);
    return good;
}

bool share_end(struct share *share, struct output *output, const struct link_profile *profile, struct fault *why)
{
    struct fault cause = { 0 };
    if (output_close(output, NULL, &cause))
        return share_end_upload(share, profile, why);
    cut(share, why); /* the store's reason first */
    return fault(why, "%s", cause.text);
}

/* ---- a file ---- */

/* Writes the rest of a file to the body. */
static bool share_copy_rest(int from, int body, const char *path, struct fault *why)
{
    char bytes[64 << 10];
    for (;;) {
        const ssize_t size = read(from, bytes, sizeof(bytes));
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return fault(why, "cannot read %s: %s", path, strerror(errno));
        if (size == 0)
            return true;
        if (!output_write_all(body, bytes, (size_t)size))
            return fault(why, "cannot write the upload: %s", strerror(errno));
    }
}

static bool share_file_fits(int fd, const char *path, const struct share_wishes *wishes, struct fault *why)
{
    struct stat file;
    const uint64_t limit = store_of(wishes, &(struct address){ 0 }).limit_bytes;
    if (fstat(fd, &file) != 0)
        return fault(why, "cannot read %s: %s", path, strerror(errno));
    return (uint64_t)file.st_size <= limit ||
           fault(why,
                 "%s is not uploaded: it has %.4g MiB, and a store takes %.4g MiB; convert a part with --from, --to or "
                 "--threads",
                 path, (double)file.st_size / (1 << 20), (double)limit / (1 << 20));
}

bool share_file(const struct share_wishes *wishes, const struct tables *tables, struct disclosed_sources sources,
                const char *path, const struct link_profile *profile, struct fault *why)
{
    int body;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fault(why, "cannot read %s: %s", path, strerror(errno));
    struct share *share = share_file_fits(fd, path, wishes, why)
                              ? share_begin_upload(wishes, tables, sources, &body, why)
                              : NULL;
    struct fault cause = { 0 };
    const bool whole = share && share_copy_rest(fd, body, path, &cause);
    close(fd);
    if (!share)
        return false;
    close(body);
    if (whole)
        return share_end_upload(share, profile, why);
    cut(share, why); /* the store's reason first */
    return fault(why, "%s", cause.text);
}
