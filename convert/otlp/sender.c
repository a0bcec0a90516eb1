/* SPDX-License-Identifier: MIT */
#include "convert/otlp/sender.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/base/monotonic.h"
#include "formats/base/utf8.h"
#include "formats/otlp/otlp.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS    INT64_C(1000000000)
#define TIMEOUT_MS   10000     /* OTLP's default for a request */
#define BACKOFF_NS   SECOND_NS /* before a request is sent again for the first time; each time twice as long ... */
#define BACKOFF_MOST (60 * SECOND_NS)  /* ... up to this, ... */
#define ASKED_MOST   (600 * SECOND_NS) /* ... or as long as the receiver asks for, up to this */
#define END_NS       (10 * SECOND_NS)  /* how long a receiver that does not answer is waited for in the end */
#define ANSWER_MOST  65536             /* bytes of an answer that are read */
#define REQUEST_MOST (1u << 30)        /* bytes of a request that are read again */
#define STATUS_FINAL 200               /* an answer below, such as 100, is followed by another */

static const char spool_ending[] = ".otlp"; /* gzip'd or not: the first bytes say it */

/* A request that waits. */
struct waiting_request {
    char *path;        /* in the folder; NULL: it is memory */
    struct bytes body; /* the memory; empty for a file */
    uint64_t size;
    int64_t since_ns;
};

struct sender {
    const struct sender_wishes *wishes;
    char *url;
    char *certificate, *key, *authorities; /* files; NULL: none is named */
    bool packed;                           /* new requests are gzip'd; those that an earlier run left may be or not */
    long timeout_ms;
    struct curl_slist *headers, *packed_headers; /* of requests that are not gzip'd, and of those that are */
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct waiting_request *rows; /* oldest first; the thread works on the first one, which stays until it is done */
    size_t count, room;
    bool busy; /* the first row is being sent */
    uint64_t size;
    pthread_cond_t settled; /* a request is done */
    bool ends;
    int64_t ends_ns;    /* when sender_close() was called */
    int64_t settled_ns; /* when a request was done, or the sender was opened */
    struct sender_counts counts;
    int folder;      /* locked: what waits in it is ours alone; -1: there is none */
    uint64_t number; /* of the next file of the folder */
    bool told;       /* that the receiver does not answer */
    bool told_full;  /* that the folder takes no file */
};

/* ---- what the environment says ---- */

/* A variable of OTLP's exporters: that of profiles alone goes before that of all signals. Empty ones are none. */
static const char *variable(const char *name)
{
    char of_profiles[80], of_all[80];
    snprintf(of_profiles, sizeof(of_profiles), "OTEL_EXPORTER_OTLP_PROFILES_%s", name);
    snprintf(of_all, sizeof(of_all), "OTEL_EXPORTER_OTLP_%s", name);
    const char *value = getenv(of_profiles);
    if (!value || !*value)
        value = getenv(of_all);
    return value && *value ? value : NULL;
}

bool sender_in_environment(void)
{
    return variable("ENDPOINT") != NULL;
}

static bool is_http(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* The endpoint of profiles alone is a whole URL, all others get the path of the signal. */
static char *endpoint(const struct sender_wishes *wishes)
{
    const char *own = getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
    if (!wishes->to && own && *own)
        return alloc_copy(own, strlen(own));
    const char *base = wishes->to ? wishes->to : variable("ENDPOINT");
    if (!base)
        return NULL;
    size_t size = strlen(base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    char *url;
    return asprintf(&url, "%.*s%s", (int)size, base, OTLP_PATH) < 0 ? NULL : url;
}

static void add_request_header(struct sender *sender, const char *header)
{
    sender->headers = curl_slist_append(sender->headers, header);
    sender->packed_headers = curl_slist_append(sender->packed_headers, header);
}

/* One header; NAME without a value is one, too, which libcurl writes with a semicolon. */
static void add_named_header(struct sender *sender, struct text name, struct text value)
{
    char *header;
    int size = 0;
    char *plain = value.size ? curl_easy_unescape(NULL, value.bytes, (int)value.size, &size) : NULL; /* 0: all of it */
    const bool clean = !plain || (!memchr(plain, '\n', (size_t)size) && !memchr(plain, '\r', (size_t)size));
    if (clean && asprintf(&header, size ? "%.*s: %s" : "%.*s;", (int)name.size, name.bytes, plain) >= 0) {
        add_request_header(sender, header);
        free(header);
    }
    curl_free(plain);
}

/* NAME=VALUE,NAME=VALUE with %XX in values, as headers. */
static void add_headers(struct sender *sender, const char *list)
{
    struct text word;
    while (text_take_word(&list, &word)) {
        const struct text row = text_trimmed(word);
        const char *equals = row.size ? memchr(row.bytes, '=', row.size) : NULL;
        if (!equals || equals == row.bytes)
            continue;
        const size_t name = (size_t)(equals - row.bytes);
        add_named_header(sender, text_trimmed((struct text){ row.bytes, name }),
                         text_trimmed((struct text){ equals + 1, row.size - name - 1 }));
    }
}

static char *copy_of_variable(const char *name)
{
    const char *value = variable(name);
    return value ? alloc_copy(value, strlen(value)) : NULL;
}

static bool read_environment(struct sender *sender, struct fault *why)
{
    const char *protocol = variable("PROTOCOL"), *timeout = variable("TIMEOUT");
    const char *compression = variable("COMPRESSION"), *headers = variable("HEADERS");
    char *rest = (char[]){ "" };
    sender->url = endpoint(sender->wishes);
    if (!sender->url)
        return fault(why, "no receiver is named: give --to http://HOST:4318, or set OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!is_http(sender->url))
        return fault(why,
                     "%s is no URL of a receiver: it begins with http:// or https://, such as "
                     "http://127.0.0.1:4318",
                     sender->url);
    if (!sender->wishes->to && protocol && strcmp(protocol, "http/protobuf") != 0)
        return fault(why, "OTEL_EXPORTER_OTLP_PROTOCOL is %s: only http/protobuf can be sent (port 4318, mostly)",
                     protocol);
    sender->timeout_ms = timeout ? strtol(timeout, &rest, 10) : TIMEOUT_MS;
    if (sender->timeout_ms <= 0 || *rest) /* "10s" is no number of milliseconds */
        sender->timeout_ms = TIMEOUT_MS;
    sender->packed = !compression || strcmp(compression, "none") != 0;
    sender->authorities = copy_of_variable("CERTIFICATE");
    sender->certificate = copy_of_variable("CLIENT_CERTIFICATE");
    sender->key = copy_of_variable("CLIENT_KEY");
    add_request_header(sender, "Content-Type: application/x-protobuf");
    sender->packed_headers = curl_slist_append(sender->packed_headers, "Content-Encoding: gzip");
    if (headers)
        add_headers(sender, headers);
    return true;
}

/* ---- requests that wait; with the lock ---- */

static void waiting_free(struct waiting_request *row)
{
    free(row->path);
    bytes_free(&row->body);
}

/* Forgets a request. Its file stays. */
static void forget_row(struct sender *sender, size_t which)
{
    struct waiting_request *row = &sender->rows[which];
    sender->size -= row->size;
    waiting_free(row);
    memmove(row, row + 1, (--sender->count - which) * sizeof(*row));
}

/* Forgets a request, with its file. */
static void drop_row(struct sender *sender, size_t which)
{
    if (sender->rows[which].path)
        unlink(sender->rows[which].path);
    forget_row(sender, which);
}

/* Loses the oldest ones beyond the limit; not the one that is being sent, and not the newest. */
static void keep_to_limit(struct sender *sender)
{
    const size_t first = sender->busy ? 1 : 0;
    while (sender->size > sender->wishes->most && sender->count > first + 1) {
        drop_row(sender, first);
        sender->counts.lost++;
    }
}

static void let_wait(struct sender *sender, struct waiting_request row)
{
    sender->rows = alloc_grow(sender->rows, &sender->room, sender->count + 1, sizeof(*sender->rows));
    sender->rows[sender->count++] = row;
    sender->size += row.size;
    keep_to_limit(sender);
    pthread_cond_signal(&sender->changed);
}

/* ---- the end ---- */

/* When a receiver that does not answer is waited for no longer. */
static int64_t give_up_ns(const struct sender *sender)
{
    const bool later = sender->wishes->patient && sender->settled_ns > sender->ends_ns;
    return (later ? sender->settled_ns : sender->ends_ns) + END_NS;
}

static bool gives_up(const struct sender *sender)
{
    return sender->ends && monotonic_ns() >= give_up_ns(sender);
}

static void wait_until_ns(pthread_cond_t *condition, struct sender *sender, int64_t time_ns)
{
    const struct timespec time = { time_ns / SECOND_NS, time_ns % SECOND_NS };
    pthread_cond_timedwait(condition, &sender->lock, &time);
}

/* Waits until a request of this size has room, as long as the receiver settles one now and then. */
static void wait_for_space(struct sender *sender, uint64_t size)
{
    while (sender->count > 0 && sender->size + size > sender->wishes->most &&
           monotonic_ns() < sender->settled_ns + END_NS)
        wait_until_ns(&sender->settled, sender, sender->settled_ns + END_NS);
}

/* ---- one request ---- */

struct reply {
    struct bytes answer;
    long status;      /* 0: there is no answer */
    int64_t asked_ns; /* how long the receiver wants us to wait; 0: it does not say */
    char said[CURL_ERROR_SIZE];
};

static size_t take_reply(char *bytes, size_t one, size_t size, void *self)
{
    struct reply *reply = self;
    const size_t room = ANSWER_MOST - reply->answer.size;
    (void)one;
    put_bytes(&reply->answer, bytes, size < room ? size : room);
    return reply->answer.size < ANSWER_MOST ? size : 0;
}

/* Reads a whole file from its beginning. False with the reason in errno; 0: the file is empty. */
static bool read_back(int fd, struct bytes *body)
{
    char room[65536];
    off_t at = 0;
    ssize_t size;
    while (at < REQUEST_MOST && (size = pread(fd, room, sizeof(room), at)) != 0) {
        if (size < 0)
            return false;
        put_bytes(body, room, (size_t)size);
        at += size;
    }
    errno = 0;
    return at > 0;
}

/* The request as it is in its file, or in memory, where it stays. False with the reason in errno. */
static bool load_request(const struct waiting_request *row, struct bytes *body)
{
    if (!row->path) {
        *body = row->body;
        return true;
    }
    const int fd = open(row->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool good = fd >= 0 && read_back(fd, body);
    const int problem = errno;
    if (fd >= 0)
        close(fd);
    errno = problem;
    return good;
}

/* Ends a request on its way: libcurl calls this each second at least. */
static int ends_request(void *self, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct sender *sender = self;
    (void)a, (void)b, (void)c, (void)d;
    pthread_mutex_lock(&sender->lock);
    const bool ends = gives_up(sender);
    pthread_mutex_unlock(&sender->lock);
    return ends;
}

static void set_options(CURL *curl, struct sender *sender, const struct bytes *body, struct reply *reply)
{
    curl_easy_setopt(curl, CURLOPT_URL, sender->url);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pyreel/" PYREEL_VERSION);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reply->said);
    const bool packed = body->size > 2 && body->at[0] == 0x1F && body->at[1] == 0x8B;
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, packed ? sender->packed_headers : sender->headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, sender->timeout_ms);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, (const char *)body->at);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_reply);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ends_request);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, sender);
    if (sender->authorities)
        curl_easy_setopt(curl, CURLOPT_CAINFO, sender->authorities);
    if (sender->certificate)
        curl_easy_setopt(curl, CURLOPT_SSLCERT, sender->certificate);
    if (sender->key)
        curl_easy_setopt(curl, CURLOPT_SSLKEY, sender->key);
}

/* One connection serves all requests, for as long as the receiver keeps it. An answer that is too long, breaks off or
 * never ends has a status all the same: who sent again what was taken would send it twice. */
static void post(CURL *curl, struct sender *sender, const struct bytes *body, struct reply *reply)
{
    curl_off_t seconds = 0;
    set_options(curl, sender, body, reply);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
    if (reply->status < STATUS_FINAL)
        reply->status = 0;
    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
        reply->asked_ns = seconds < ASKED_MOST / SECOND_NS ? seconds * SECOND_NS : ASKED_MOST;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        snprintf(reply->said, sizeof(reply->said), "the recording has ended");
    else if (code != CURLE_OK && !reply->said[0])
        snprintf(reply->said, sizeof(reply->said), "%s", curl_easy_strerror(code));
    curl_easy_reset(curl); /* it writes into the reply and reads the body no longer */
}

static bool comes_again(long status)
{
    return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

/* ---- the thread ---- */

static void sender_say(const char *what, const char *more)
{
    fprintf(stderr, "pyreel-otlp: %s%s%s\n", what, *more ? ": " : "", utf8_shown(more));
}

/* Counts what the receiver says of a request that it took. */
static void judge_success(struct sender *sender, const struct reply *reply)
{
    const struct otlp_answer answer = otlp_answer_read(bytes_text(&reply->answer));
    sender->counts.profiles += answer.refused;
    if (answer.refused)
        sender_say("warning: the receiver took a part of a request", answer.words);
    free(answer.words);
}

/* The beginning of an answer that is text. */
static void put_answer(char room[200], const struct reply *reply)
{
    size_t size = 0;
    for (size_t i = 0; i < reply->answer.size && size < 199; i++)
        if (reply->answer.at[i] >= ' ' && reply->answer.at[i] < 0x7F)
            room[size++] = (char)reply->answer.at[i];
    room[size] = '\0';
}

static void note_settled(struct sender *sender)
{
    sender->settled_ns = monotonic_ns();
    pthread_cond_signal(&sender->settled);
}

/* With the lock. The first request is done. */
static void settle(struct sender *sender, const struct reply *reply)
{
    struct waiting_request *row = &sender->rows[0];
    char words[64], answer[200];
    const uint64_t took_ns = (uint64_t)(monotonic_ns() - row->since_ns);
    if (reply->status >= 200 && reply->status <= 299) {
        sender->counts.sent++;
        sender->counts.bytes += row->size;
        sender->counts.longest_ns = took_ns > sender->counts.longest_ns ? took_ns : sender->counts.longest_ns;
        judge_success(sender, reply);
        if (sender->told && !sender->wishes->quiet)
            sender_say("the receiver answers again", "");
        sender->told = false;
    } else {
        sender->counts.refused++;
        put_answer(answer, reply);
        snprintf(words, sizeof(words), "warning: the receiver refused a request (answer %ld)", reply->status);
        sender_say(words, answer);
    }
    drop_row(sender, 0);
    note_settled(sender);
}

/* With the lock. The file of the first request cannot be read. An empty one is all that a machine without power left of
 * a request; any other stays where it is. */
static void pass_over(struct sender *sender, int problem)
{
    const char *path = sender->rows[0].path;
    char words[PATH_MAX + 100];
    snprintf(words, sizeof(words), "warning: cannot read the request %s", path);
    sender_say(words, problem ? strerror(problem) : "it is empty");
    if (!problem)
        unlink(path);
    sender->counts.lost++;
    forget_row(sender, 0);
    note_settled(sender);
}

/* With the lock. Waits before the first request is sent again. */
static void wait_again(struct sender *sender, const struct reply *reply, int64_t *backoff_ns, unsigned *seed)
{
    char words[400];
    const int64_t drawn_ns = *backoff_ns / 2 + (int64_t)((double)rand_r(seed) / RAND_MAX * (double)*backoff_ns);
    const int64_t until_ns = monotonic_ns() + (reply->asked_ns ? reply->asked_ns : drawn_ns);
    if (!sender->told) {
        if (reply->status)
            snprintf(words, sizeof(words), "warning: the receiver takes nothing now (answer %ld); trying again",
                     reply->status);
        else
            snprintf(words, sizeof(words), "warning: no answer from %.200s; trying again", sender->url);
        sender_say(words, reply->status ? "" : reply->said);
    }
    sender->told = true;
    sender->counts.again++;
    *backoff_ns = *backoff_ns < BACKOFF_MOST / 2 ? *backoff_ns * 2 : BACKOFF_MOST;
    while (monotonic_ns() < until_ns && !gives_up(sender)) {
        const bool ends_first = sender->ends && give_up_ns(sender) < until_ns;
        wait_until_ns(&sender->changed, sender, ends_first ? give_up_ns(sender) : until_ns);
    }
}

static void *send_all(void *self)
{
    struct sender *sender = self;
    CURL *curl = curl_easy_init();
    int64_t backoff_ns = BACKOFF_NS;
    unsigned seed = (unsigned)monotonic_ns() ^ (unsigned)getpid();
    pthread_mutex_lock(&sender->lock);
    for (;;) {
        while (sender->count == 0 && !sender->ends)
            pthread_cond_wait(&sender->changed, &sender->lock);
        if (sender->count == 0 || !curl || gives_up(sender))
            break;
        struct waiting_request row = sender->rows[0]; /* stays where it is while the lock is open */
        struct reply reply = { 0 };
        sender->busy = true;
        pthread_mutex_unlock(&sender->lock);
        struct bytes body = { 0 };
        const bool loaded = load_request(&row, &body);
        const int problem = errno;
        if (loaded)
            post(curl, sender, &body, &reply);
        if (row.path)
            bytes_free(&body);
        pthread_mutex_lock(&sender->lock);
        sender->busy = false;
        if (!loaded) {
            pass_over(sender, problem);
        } else if (comes_again(reply.status)) {
            wait_again(sender, &reply, &backoff_ns, &seed);
        } else {
            settle(sender, &reply);
            backoff_ns = BACKOFF_NS;
        }
        bytes_free(&reply.answer);
    }
    pthread_mutex_unlock(&sender->lock);
    curl_easy_cleanup(curl);
    return NULL;
}

/* ---- the folder ---- */

static int is_request(const struct dirent *entry)
{
    return text_begins(text_of(entry->d_name), TEXT("pyreel-")) &&
           text_ends(text_of(entry->d_name), text_of(spool_ending));
}

/* Opens the folder for this sender alone: two would send the same files. Where a file system has no locks, nobody
 * knows. */
static bool lock_folder(struct sender *sender, struct fault *why)
{
    const char *folder = sender->wishes->spool;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return fault(why, "cannot make the folder %s: %s", folder, strerror(errno));
    sender->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sender->folder < 0)
        return fault(why, "cannot open the folder %s: %s", folder, strerror(errno));
    return flock(sender->folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK ||
           fault(why, "another pyreel-otlp keeps its requests in %s: name another folder with --spool", folder);
}

/* Takes up what an earlier run has left, in the order of names, which is that of time. */
static bool take_up(struct sender *sender, struct fault *why)
{
    const char *folder = sender->wishes->spool;
    struct dirent **names;
    const int count = scandir(folder, &names, is_request, alphasort);
    if (count < 0)
        return fault(why, "cannot read the folder %s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        struct waiting_request row = { .since_ns = monotonic_ns() };
        struct stat file;
        if (asprintf(&row.path, "%s/%s", folder, names[i]->d_name) < 0)
            row.path = NULL;
        free(names[i]);
        if (row.path && lstat(row.path, &file) == 0 && S_ISREG(file.st_mode)) { /* a pipe would never end */
            row.size = (uint64_t)file.st_size;
            let_wait(sender, row);
        } else {
            waiting_free(&row);
        }
    }
    free(names);
    return true;
}

/* Writes a request into the folder. Returns its path; NULL: the folder does not take it, which is told once. */
static char *put_into_folder(struct sender *sender, const struct bytes *body)
{
    struct timespec now;
    struct fault why = { 0 };
    struct output file = { 0 };
    char *path;
    clock_gettime(CLOCK_REALTIME, &now);
    if (asprintf(&path, "%s/pyreel-%010lld.%09ld-%d-%" PRIu64 "%s", sender->wishes->spool, (long long)now.tv_sec,
                 now.tv_nsec, (int)getpid(), sender->number++, spool_ending) < 0)
        return NULL;
    bool good = output_open(&file, path, false, &why);
    if (good) {
        output_bytes(&file, body->at, body->size);
        good = output_close(&file, NULL, &why);
    }
    if (good)
        return path;
    if (!sender->told_full)
        sender_say("warning: requests wait in memory, for the folder takes none", why.text);
    sender->told_full = true;
    free(path);
    return NULL;
}

bool sender_file(struct sender *sender, struct output *output, struct fault *why)
{
    const int fd = memfd_create("request", MFD_CLOEXEC);
    if (fd < 0)
        return fault(why, "cannot make a file in memory: %s", strerror(errno));
    output_open_fd(output, fd, "a request", sender->packed);
    return true;
}

bool sender_add(struct sender *sender, struct output *output, struct fault *why)
{
    struct waiting_request row = { .since_ns = monotonic_ns() };
    const int fd = dup(output->fd); /* output_close() closes the other one */
    const bool closed = output_close(output, NULL, why);
    const bool good = closed && fd >= 0 && read_back(fd, &row.body);
    const int problem = errno;
    if (fd >= 0)
        close(fd);
    if (!good) {
        waiting_free(&row);
        return closed ? fault(why, "cannot keep a request: %s", strerror(problem)) : false;
    }
    row.size = row.body.size;
    if (sender->wishes->spool)
        row.path = put_into_folder(sender, &row.body);
    if (row.path)
        bytes_free(&row.body);
    pthread_mutex_lock(&sender->lock);
    if (sender->wishes->patient)
        wait_for_space(sender, row.size);
    let_wait(sender, row);
    pthread_mutex_unlock(&sender->lock);
    return true;
}

/* ---- from open to close ---- */

static void sender_free(struct sender *sender)
{
    for (size_t i = 0; i < sender->count; i++)
        waiting_free(&sender->rows[i]);
    free(sender->rows);
    free(sender->url);
    if (sender->folder >= 0)
        close(sender->folder);
    free(sender->certificate);
    free(sender->key);
    free(sender->authorities);
    curl_slist_free_all(sender->headers);
    curl_slist_free_all(sender->packed_headers);
    pthread_cond_destroy(&sender->changed);
    pthread_cond_destroy(&sender->settled);
    pthread_mutex_destroy(&sender->lock);
    free(sender);
}

/* Signals are for the thread that reads the recording: one of them ends the reading. */
static int start_thread(struct sender *sender)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&sender->thread, NULL, send_all, sender);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem;
}

struct sender *sender_open(const struct sender_wishes *wishes, struct fault *why)
{
    struct sender *sender = alloc_zeroed(1, sizeof(*sender));
    pthread_condattr_t monotonic;
    sender->wishes = wishes;
    sender->folder = -1;
    pthread_mutex_init(&sender->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sender->changed, &monotonic);
    pthread_cond_init(&sender->settled, &monotonic);
    sender->settled_ns = monotonic_ns();
    pthread_condattr_destroy(&monotonic);
    signal(SIGPIPE, SIG_IGN); /* a broken connection is an error that is counted */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        fault(why, "libcurl cannot start");
    } else if (read_environment(sender, why) &&
               (!wishes->spool || (lock_folder(sender, why) && take_up(sender, why)))) {
        const int problem = start_thread(sender);
        if (problem == 0)
            return sender;
        fault(why, "cannot start a thread: %s", strerror(problem));
    }
    sender_free(sender);
    return NULL;
}

bool sender_close(struct sender *sender, struct sender_counts *counts)
{
    pthread_mutex_lock(&sender->lock);
    sender->ends = true;
    sender->ends_ns = monotonic_ns();
    pthread_cond_signal(&sender->changed);
    pthread_mutex_unlock(&sender->lock);
    pthread_join(sender->thread, NULL);
    for (size_t i = 0; i < sender->count; i++)
        *(sender->rows[i].path ? &sender->counts.left : &sender->counts.lost) += 1;
    *counts = sender->counts;
    sender_free(sender);
    return counts->refused == 0 && counts->profiles == 0 && counts->lost == 0 && counts->left == 0;
}
