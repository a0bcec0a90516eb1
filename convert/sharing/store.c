/* SPDX-License-Identifier: MIT */
#include "convert/sharing/store.h"

#include "convert/sharing/store_answer.h"
#include "formats/base/alloc.h"
#include "formats/base/monotonic.h"
#include "formats/base/utf8.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS 200000000 /* between two updates of the progress line */

/* A request and its answer. */
struct store_request {
    const struct store *store;
    CURL *curl;
    struct curl_slist *headers;
    const char *doing; /* for messages: "upload to" */
    char *url;
    struct bytes answer;
    int64_t moved_ns;           /* when bytes were last sent or received */
    curl_off_t moved;           /* bytes that were sent and received then */
    struct fault own;           /* why we ended the request ourselves */
    char said[CURL_ERROR_SIZE]; /* what libcurl says about its failure */
};

struct store_upload {
    struct store store;
    struct store_request request;
    pthread_t thread;
    int body, writing; /* the two ends of the pipe. We keep the end for writing, so that the body ends when we say so */
    atomic_bool whole; /* all was written: the end of the pipe is the end of the profile */
    atomic_bool cut;   /* the profile failed */
    bool good;         /* the store took the profile */
    bool sent_all;     /* the end of the body was sent */
    uint64_t sent;     /* bytes */
    bool progress_shown;
    int64_t progress_due_ns;
};

/* ---- failures ---- */

/* The variable that names the file of the authorities to trust, by curl's own order. */
static const char *authorities_variable(void)
{
    const char *bundle = getenv("CURL_CA_BUNDLE");
    return bundle && *bundle ? "CURL_CA_BUNDLE" : "SSL_CERT_FILE";
}

/* The causes of failures, and what to do about them. */
static const struct cause {
    CURLcode code;
    const char *words;
    bool quotes; /* what libcurl says stands behind the words */
    bool trusts; /* the name of authorities_variable() ends the words */
} causes[] = {
    { .code = CURLE_COULDNT_RESOLVE_HOST,
      .words = "the name of the host is not known; check the network, and the URL of --server" },
    { .code = CURLE_COULDNT_RESOLVE_PROXY,
      .words = "the name of the proxy is not known; check the variables https_proxy and http_proxy" },
    { .code = CURLE_COULDNT_CONNECT,
      .words = "no connection; check that the store runs, the network, and the proxy",
      .quotes = true },
    { .code = CURLE_PEER_FAILED_VERIFICATION,
      .words = "the certificate of the store is not to be trusted. For a store with a certificate of your own, name "
               "the file of "
               "its authority in the variable ",
      .quotes = true,
      .trusts = true },
    { .code = CURLE_SSL_CACERT_BADFILE,
      .words = "cannot read the file of authorities to trust, which is named by the variable ",
      .trusts = true },
    { .code = CURLE_SSL_CONNECT_ERROR,
      .words = "no encrypted connection; does the store speak https at this address?",
      .quotes = true },
    { .code = CURLE_SEND_ERROR, .words = "the store cut the connection; try again", .quotes = true },
    { .code = CURLE_RECV_ERROR, .words = "the store cut the connection; try again", .quotes = true },
    { .code = CURLE_PARTIAL_FILE, .words = "the store cut its answer; try again" },
    { .code = CURLE_GOT_NOTHING, .words = "the store closed the connection without an answer; try again" },
    { .code = CURLE_WEIRD_SERVER_REPLY, .words = "the answer is not HTTP; is --server a store of profiles?" },
    { .code = CURLE_UNSUPPORTED_PROTOCOL, .words = "the answer is not HTTP/1; is --server a store of profiles?" },
    { .code = CURLE_OPERATION_TIMEDOUT,
      .words = "the store does not answer; try again, or wait longer with --timeout" },
};

/* The answers of a store that are no success. */
static const struct refusal {
    long from, to;
    const char *words;
} refusals[] = {
    { 300, 399,
      "the store is at another address; nothing is sent there. Name that address with --server if you trust it" },
    { 400, 400, "the store takes this for no profile; is --server a store for the Firefox Profiler?" },
    { 401, 401, "the store refuses the proof that the profile is yours" },
    { 403, 403, "the store does not let you do that" },
    { 404, 404, "the store has nothing at this address; is --server a store for the Firefox Profiler?" },
    { 407, 407, "the proxy wants to know who you are; the variables https_proxy and http_proxy can say so" },
    { 413, 413, "the profile is too large for the store; convert a part with --from, --to or --threads" },
    { 429, 429, "the store has had too many requests; try again later" },
    { 500, 599, "the store has a problem of its own; try again later" },
};

/* Text from elsewhere, for a terminal. */
static void put_clean(char *room, size_t size, const char *text)
{
    size_t used = 0;
    for (; *text && used + 1 < size; text++)
        if (*text >= ' ' && *text <= '~')
            room[used++] = *text;
    room[used] = '\0';
}

static bool fail_by_code(const struct store_request *request, CURLcode code, struct fault *why)
{
    char said[200];
    put_clean(said, sizeof(said), *request->said ? request->said : curl_easy_strerror(code));
    const struct cause *cause = NULL;
    for (size_t i = 0; i < countof(causes) && !cause; i++)
        if (causes[i].code == code)
            cause = &causes[i];
    if (!cause)
        return fault(why, "cannot %s %s: %s", request->doing, request->store->server, said);
    return fault(why, "cannot %s %s: %s%s%s%s%s", request->doing, request->store->server, cause->words,
                 cause->trusts ? authorities_variable() : "", cause->quotes ? " (" : "", cause->quotes ? said : "",
                 cause->quotes ? ")" : "");
}

static bool fail_by_status(const struct store_request *request, long status, struct fault *why)
{
    const char *words = "the store does not do that", *to = NULL;
    char address[200] = "";
    for (size_t i = 0; i < countof(refusals); i++)
        if (status >= refusals[i].from && status <= refusals[i].to)
            words = refusals[i].words;
    if (curl_easy_getinfo(request->curl, CURLINFO_REDIRECT_URL, &to) == CURLE_OK && to)
        put_clean(address, sizeof(address), to);
    return fault(why, "cannot %s %s: %s (answer %ld%s%s)", request->doing, request->store->server, words, status,
                 *address ? ", " : "", address);
}

/* ---- requests ---- */

static size_t take_answer(char *bytes, size_t one, size_t size, void *self)
{
    struct store_request *request = self;
    (void)one;
    if (request->answer.size + size > STORE_ANSWER_MOST) {
        fault(&request->own, "cannot %s %s: the answer is too large to be a store's; is --server a store of profiles?",
              request->doing, request->store->server);
        return 0;
    }
    put_bytes(&request->answer, bytes, size);
    request->moved_ns = monotonic_ns();
    return size;
}

/* Ends a request in which nothing moves. libcurl calls about once a second, or more often. */
static bool is_stuck(struct store_request *request, curl_off_t received, curl_off_t sent)
{
    const int64_t now = monotonic_ns();
    if (received + sent != request->moved) {
        request->moved = received + sent;
        request->moved_ns = now;
    }
    if ((uint64_t)(now - request->moved_ns) < request->store->patience_ns)
        return false;
    fault(&request->own, "cannot %s %s: nothing has moved for %.3g s; try again, or wait longer with --timeout",
          request->doing, request->store->server, (double)request->store->patience_ns / 1e9);
    return true;
}

static int look_after(void *self, curl_off_t to_receive, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
    (void)to_receive, (void)to_send;
    return is_stuck(self, received, sent);
}

static void add_header(struct store_request *request, const char *header)
{
    request->headers = curl_slist_append(request->headers, header);
}

static void choose_authorities(const struct store_request *request)
{
    const char *file = getenv(authorities_variable()), *folder = getenv("SSL_CERT_DIR");
    if (file && *file)
        curl_easy_setopt(request->curl, CURLOPT_CAINFO, file);
    if (folder && *folder)
        curl_easy_setopt(request->curl, CURLOPT_CAPATH, folder);
}

/* Prepares a request to `path`, which it frees. */
static bool request_open(struct store_request *request, const struct store *store, const char *doing, char *url,
                         struct fault *why)
{
    *request = (struct store_request){ .store = store, .doing = doing, .url = url, .moved_ns = monotonic_ns() };
    signal(SIGPIPE, SIG_IGN); /* a broken pipe or connection is an error that we report */
    CURL *curl = request->curl = curl_easy_init();
    if (!curl)
        return fault(why, "cannot %s %s: libcurl cannot start", doing, store->server);
    const uint64_t patience_ms = store->patience_ns / 1000000;
    add_header(request, "Accept: application/vnd.firefox-profiler+json;version=1.0");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pyreel/" PYREEL_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, request->said);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1); /* which has chunks */
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(patience_ms ? patience_ms : 1));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_after);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
    choose_authorities(request);
    return true;
}

static void request_close(struct store_request *request)
{
    curl_slist_free_all(request->headers);
    curl_easy_cleanup(request->curl);
    bytes_free(&request->answer);
    free(request->url);
}

/* Makes the request. *status is the answer's; 0: there is none. False with the reason when there is no whole answer,
 * without a reason when the body was cut. */
static bool request_make(struct store_request *request, long *status, struct fault *why)
{
    curl_easy_setopt(request->curl, CURLOPT_HTTPHEADER, request->headers);
    const CURLcode code = curl_easy_perform(request->curl);
    *status = 0;
    curl_easy_getinfo(request->curl, CURLINFO_RESPONSE_CODE, status);
    /* A store that refuses a body may close the connection before it has read all. Its answer says more. */
    if (code != CURLE_OK && *status >= 300 && !request->own.text[0])
        return true;
    if (request->own.text[0])
        return fault(why, "%s", request->own.text);
    if (code == CURLE_ABORTED_BY_CALLBACK) /* the profile was cut, and who cut it knows why */
        return false;
    return code == CURLE_OK || fail_by_code(request, code, why);
}

static char *url_of(const struct store *store, const char *path, const char *token)
{
    char *url;
    return asprintf(&url, "%s%s%s", store->server, path, token) < 0 ? NULL : url;
}

/* ---- an upload ---- */

static void upload_show_progress(struct store_upload *upload)
{
    const int64_t now = monotonic_ns();
    if (!upload->store.progress || now < upload->progress_due_ns)
        return;
    upload->progress_due_ns = now + PROGRESS_NS;
    upload->progress_shown = true;
    fprintf(stderr, "\r%s: %.1f MB sent%s  ", upload->store.progress, (double)upload->sent / 1e6,
            upload->sent_all ? ", waiting for the answer" : "");
}

static void upload_end_progress(struct store_upload *upload)
{
    if (upload->progress_shown)
        fprintf(stderr, "\r\x1b[K");
}

/* Gives libcurl the next bytes of the profile. */
static size_t give_body(char *room, size_t one, size_t count, void *self)
{
    struct store_upload *upload = self;
    struct store_request *request = &upload->request;
    ssize_t size;
    do
        size = read(upload->body, room, one * count);
    while (size < 0 && errno == EINTR);
    request->moved_ns = monotonic_ns(); /* the wait for the converter does not count */
    if (size < 0 || (size == 0 && !upload->whole))
        return CURL_READFUNC_ABORT;
    upload->sent += (uint64_t)size;
    upload->sent_all = size == 0;
    if (upload->sent <= upload->store.limit_bytes)
        return (size_t)size;
    fault(&request->own,
          "cannot upload to %s: the profile is larger than %.4g MiB, the most that a store takes; convert a part with "
          "--from, --to or --threads",
          upload->store.server, (double)upload->store.limit_bytes / (1 << 20));
    return CURL_READFUNC_ABORT;
}

static int look_after_upload(void *self, curl_off_t to_receive, curl_off_t received, curl_off_t to_send,
                             curl_off_t sent)
{
    struct store_upload *upload = self;
    (void)to_receive, (void)to_send;
    upload_show_progress(upload);
    return upload->cut || is_stuck(&upload->request, received, sent);
}

static void upload_judge(struct store_upload *upload, long status)
{
    struct store_request *request = &upload->request;
    if (status < 200 || status > 299)
        fail_by_status(request, status, &request->own);
    else if (!upload->sent_all)
        fault(&request->own,
              "cannot upload to %s: the store answered before it had the whole profile; is --server a "
              "store of profiles?",
              upload->store.server);
    else
        upload->good = true;
}

static void *send_profile(void *self)
{
    struct store_upload *upload = self;
    struct store_request *request = &upload->request;
    struct fault why = { 0 };
    long status;
    if (request_make(request, &status, &why))
        upload_judge(upload, status);
    fault(&request->own, "%s", why.text);
    if (upload->good)
        request->own.text[0] = '\0';
    upload_end_progress(upload);
    close(upload->body); /* the caller, who may still write, finds the pipe broken */
    return NULL;
}

static bool open_pipe(struct store_upload *upload, int *body, struct fault *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    upload->body = ends[0];
    upload->writing = ends[1];
    *body = fcntl(upload->writing, F_DUPFD_CLOEXEC, 3);
    if (*body >= 0)
        return true;
    fault(why, "cannot make a pipe: %s", strerror(errno));
    close(upload->body);
    close(upload->writing);
    return false;
}

static bool start_sending(struct store_upload *upload, struct fault *why)
{
    CURL *curl = upload->request.curl;
    add_header(&upload->request, "Content-Type: application/octet-stream");
    curl_easy_setopt(curl, CURLOPT_POST, 1L); /* without a size: in chunks */
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    curl_easy_setopt(curl, CURLOPT_READDATA, upload);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_after_upload);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, upload);
    const int error = pthread_create(&upload->thread, NULL, send_profile, upload);
    return error == 0 || fault(why, "cannot start a thread: %s", strerror(error));
}

struct store_upload *store_upload_begin(const struct store *store, int *body, struct fault *why)
{
    struct store_upload *upload = alloc_zeroed(1, sizeof(*upload));
    upload->store = *store;
    const bool piped = open_pipe(upload, body, why);
    if (piped &&
        request_open(&upload->request, &upload->store, "upload to", url_of(store, "/compressed-store", ""), why) &&
        start_sending(upload, why))
        return upload;
    if (piped) {
        close(*body);
        close(upload->body);
        close(upload->writing);
    }
    request_close(&upload->request);
    free(upload);
    return NULL;
}

/* Ends the pipe and the thread. Both ways, because the thread says why it failed. */
static void wait_for(struct store_upload *upload)
{
    close(upload->writing);
    pthread_join(upload->thread, NULL);
}

static void upload_release(struct store_upload *upload)
{
    request_close(&upload->request);
    free(upload);
}

bool store_upload_end(struct store_upload *upload, struct bytes *answer, struct fault *why)
{
    upload->whole = true;
    wait_for(upload);
    const bool good = upload->good || fault(why, "%s", upload->request.own.text);
    *answer = upload->request.answer;
    upload->request.answer = (struct bytes){ 0 };
    upload_release(upload);
    return good;
}

void store_upload_cut(struct store_upload *upload, struct fault *why)
{
    if (!upload)
        return;
    upload->cut = true;
    wait_for(upload);
    fault(why, "%s", upload->request.own.text);
    upload_release(upload);
}

/* ---- deletion ---- */

enum store_deleted store_delete(const struct store *store, const char *token, const char *proof, struct fault *why)
{
    struct store_request request;
    char *header = NULL;
    long status = 0;
    enum store_deleted result = STORE_FAILED;
    if (request_open(&request, store, "delete the profile from", url_of(store, "/profile/", token), why) &&
        asprintf(&header, "Authorization: Bearer %s", proof) >= 0) {
        add_header(&request, header);
        curl_easy_setopt(request.curl, CURLOPT_CUSTOMREQUEST, "DELETE");
        if (!request_make(&request, &status, why))
            result = STORE_FAILED;
        else if (status >= 200 && status <= 299)
            result = STORE_DELETED;
        else if (status == 404)
            result = STORE_HAS_NONE;
        else
            fail_by_status(&request, status, why);
    }
    free(header);
    request_close(&request);
    return result;
}
