/* SPDX-License-Identifier: MIT */
/* Uploads to a server of one connection: what arrives when the profile is whole, and when it is not. */
#include "convert/sharing/store.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_CHUNK "0\r\n\r\n"

/* A server that takes one request, until its last chunk or the end of the connection. */
struct server {
    int listening;
    char url[64];
    const char *answer;
    pthread_t thread;
    sem_t begun; /* the head of the request is there */
    char taken[64 << 10];
    size_t size;
};

static void *serve(void *self)
{
    struct server *server = self;
    const int fd = accept(server->listening, NULL, NULL);
    bool expects = true;
    ssize_t size;
    while (server->size < sizeof(server->taken) - 1 &&
           (size = read(fd, server->taken + server->size, sizeof(server->taken) - 1 - server->size)) > 0) {
        server->size += (size_t)size;
        if (expects && strstr(server->taken, "\r\n\r\n")) {
            dprintf(fd, "HTTP/1.1 100 Continue\r\n\r\n");
            expects = false;
            sem_post(&server->begun);
        }
        if (strstr(server->taken, "\r\n" LAST_CHUNK))
            break;
    }
    dprintf(fd, "%s", server->answer);
    close(fd);
    return NULL;
}

/* Takes a port on which nobody listens yet. */
static void take_port(struct server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    *server = (struct server){ .listening = socket(AF_INET, SOCK_STREAM, 0) };
    assert_int_equal(bind(server->listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(server->listening, (struct sockaddr *)&address, &size), 0);
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
}

static void start(struct server *server, const char *answer)
{
    take_port(server);
    server->answer = answer;
    sem_init(&server->begun, 0, 0);
    assert_int_equal(listen(server->listening, 1), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop(struct server *server)
{
    pthread_join(server->thread, NULL);
    close(server->listening);
}

static struct store_upload *begin(const struct server *server, int *body)
{
    struct fault why = { 0 };
    const struct store store = { .server = server->url, .limit_bytes = 1 << 20, .patience_ns = 30000000000 };
    struct store_upload *upload = store_upload_begin(&store, body, &why);
    if (!upload)
        fail_msg("%s", why.text);
    return upload;
}

static void a_whole_profile_arrives(void **state)
{
    (void)state;
    struct server server;
    struct bytes answer = { 0 };
    struct fault why = { 0 };
    int body;
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na.b.c");
    struct store_upload *upload = begin(&server, &body);
    assert_int_equal(write(body, "half", 4), 4);
    assert_int_equal(write(body, "other", 5), 5);
    close(body);
    if (!store_upload_end(upload, &answer, &why))
        fail_msg("%s", why.text);
    stop(&server);
    assert_memory_equal(server.taken, "POST /compressed-store HTTP/1.1\r\n", 33);
    assert_non_null(strstr(server.taken, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_non_null(strstr(server.taken, "\r\n" LAST_CHUNK));
    assert_int_equal(answer.size, 5);
    assert_memory_equal(answer.at, "a.b.c", 5);
    bytes_free(&answer);
}

static void a_profile_that_is_cut_has_no_end(void **state)
{
    (void)state;
    struct server server;
    struct fault why = { 0 };
    int body;
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    struct store_upload *upload = begin(&server, &body);
    assert_int_equal(write(body, "half", 4), 4);
    sem_wait(&server.begun);
    close(body); /* the end of the pipe is no end of the profile */
    store_upload_cut(upload, &why);
    stop(&server);
    assert_null(strstr(server.taken, "\r\n" LAST_CHUNK));
    assert_string_equal(why.text, ""); /* the upload did not fail by itself */
}

static void the_reason_of_the_store_is_kept(void **state)
{
    (void)state;
    struct server server;
    struct fault why = { 0 };
    char bytes[4096] = { 0 };
    int body;
    take_port(&server);
    struct store_upload *upload = begin(&server, &body);
    while (write(body, bytes, sizeof(bytes)) > 0) /* until the pipe breaks */
        ;
    close(body);
    store_upload_cut(upload, &why);
    close(server.listening);
    assert_non_null(strstr(why.text, "no connection"));
}

static void a_size_beyond_the_limit_is_no_upload(void **state)
{
    (void)state;
    struct server server;
    struct bytes answer = { 0 };
    struct fault why = { 0 };
    int body;
    start(&server, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    const struct store store = { .server = server.url, .limit_bytes = 8, .patience_ns = 30000000000 };
    struct store_upload *upload = store_upload_begin(&store, &body, NULL);
    sem_wait(&server.begun);
    assert_int_equal(write(body, "123456789", 9), 9);
    close(body);
    assert_false(store_upload_end(upload, &answer, &why));
    stop(&server);
    assert_null(strstr(server.taken, "\r\n" LAST_CHUNK));
    assert_non_null(strstr(why.text, "the profile is larger than"));
}

TEST_FILE(store)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_profile_arrives),
        cmocka_unit_test(a_profile_that_is_cut_has_no_end),
        cmocka_unit_test(the_reason_of_the_store_is_kept),
        cmocka_unit_test(a_size_beyond_the_limit_is_no_upload),
    };
    for (const char *const *name = (const char *const[]){ "http_proxy", "all_proxy", "ALL_PROXY", NULL }; *name; name++)
        unsetenv(*name);
    return run_all(tests);
}
