/* SPDX-License-Identifier: MIT */
#include "record/names/attributes.h"

#include "formats/base/alloc.h"
#include "formats/model/event.h"
#include "tests/fakes/testing.h"

#include <stdlib.h>
#include <string.h>

#define ID  "8f1c0a7de3b94c52a6d17f0e5b2c9d48e1f60a3b7c5d2e9f4a8b1c6d0e3f7a92"
#define POD "2b6e8f10-3c4d-4e5f-8a9b-0c1d2e3f4a5b"

static void assert_lines(struct bytes *lines, const char *expected)
{
    put_bytes(lines, "", 1);
    assert_string_equal((const char *)lines->at, expected);
    bytes_free(lines);
}

static void assert_cgroup(const char *text, const char *expected)
{
    struct bytes lines = { 0 };
    attributes_put_cgroup(&lines, text);
    assert_lines(&lines, expected);
}

static void the_cgroup_names_container_and_pod(void **state)
{
    (void)state;
    assert_cgroup("0::/system.slice/docker-" ID ".scope\n",
                  "process.linux.cgroup=/system.slice/docker-" ID ".scope\ncontainer.id=" ID "\n");
    assert_cgroup("12:pids:/docker/" ID "\n3:cpu:/docker/other\n",
                  "process.linux.cgroup=/docker/" ID "\ncontainer.id=" ID "\n");
    assert_cgroup("0::/kubepods.slice/kubepods-pod2b6e8f10_3c4d_4e5f_8a9b_0c1d2e3f4a5b.slice/cri-containerd-" ID
                  ".scope\n",
                  "process.linux.cgroup=/kubepods.slice/kubepods-pod2b6e8f10_3c4d_4e5f_8a9b_0c1d2e3f4a5b.slice/"
                  "cri-containerd-" ID ".scope\ncontainer.id=" ID "\nk8s.pod.uid=" POD "\n");
    assert_cgroup("4:cpu:/kubepods/burstable/pod" POD "/" ID "\n",
                  "process.linux.cgroup=/kubepods/burstable/pod" POD "/" ID "\ncontainer.id=" ID "\nk8s.pod.uid=" POD
                  "\n");
    assert_cgroup("4:cpu:/\n0::/user.slice\n", "process.linux.cgroup=/user.slice\n");
    assert_cgroup("0::/podium/" ID "0\n", "process.linux.cgroup=/podium/" ID "0\n"); /* 65 digits */
    static const char *const nothing[] = { "", "0::/\n", "0::", "0:", "0", "\n", "::\n" };
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
        assert_cgroup(nothing[i], "");
}

/* What the process publishes goes before its environment. */
static void what_is_published_goes_first(void **state)
{
    (void)state;
    struct bytes lines = { 0 };
    attributes_put_published(&lines,
                             TEXT("service.name=shop\nhost.name=\xff\nno name=1\nempty=\nservice.name=again\n"));
    attributes_put_environment(&lines, TEXT("OTEL_SERVICE_NAME=other\0OTEL_RESOURCE_ATTRIBUTES=zone=a"));
    assert_lines(&lines, "service.name=shop\nhost.name=\\xff\nzone=a\n");
    for (size_t i = 0; i < ATTRIBUTES_MOST / 8; i++)
        put_format(&lines, "name%zu=%zu\n", i, i);
    struct bytes kept = { 0 };
    attributes_put_published(&kept, bytes_text(&lines));
    assert_in_range(kept.size, ATTRIBUTES_MOST / 2, ATTRIBUTES_MOST + 64);
    put_bytes(&kept, "", 1);
    assert_non_null(strstr((const char *)kept.at, "pyreel.attributes_left_out="));
    bytes_free(&kept);
    bytes_free(&lines);
}

static void assert_environment(const char *bytes, size_t size, const char *expected)
{
    struct bytes lines = { 0 };
    char *exact = alloc_copy(bytes, size); /* the sanitizers see a read behind the end */
    attributes_put_environment(&lines, (struct text){ exact, size });
    free(exact);
    assert_lines(&lines, expected);
}

static void the_environment_names_the_service(void **state)
{
    (void)state;
#define ENVIRONMENT(bytes, expected) assert_environment(bytes, sizeof(bytes) - 1, expected)
    ENVIRONMENT("PATH=/bin\0OTEL_SERVICE_NAME=shop\0", "service.name=shop\n");
    ENVIRONMENT("OTEL_SERVICE_NAME=shop", "service.name=shop\n");
    ENVIRONMENT("XOTEL_SERVICE_NAME=a\0OTEL_SERVICE_NAME2=b\0OTEL_SERVICE_NAME\0OTEL_SERVICE_NAME=\0", "");
    ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=service.name=a, service.version = 1.2 ,x=%41%2c%zz%4\0OTEL_SERVICE_NAME=b\0",
                "service.name=b\nservice.version=1.2\nx=A,%zz%4\n");
    ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=a=1,a=2,=3,b,c=,d e=4,,f=a%0Ab\0", "a=1\nf=a b\n");
    ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=a=\xFF\0SECRET=x\0", "a=\\xff\n");
    ENVIRONMENT("", "");
    ENVIRONMENT("\0\0\0", "");
    ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=,,,=", "");
}

/* A bound cuts what is beyond it, and says so. */
static void a_large_environment_is_cut(void **state)
{
    (void)state;
    struct bytes environment = { 0 }, lines = { 0 };
    put_string(&environment, "OTEL_RESOURCE_ATTRIBUTES=");
    for (int i = 0; i < 10000; i++)
        put_format(&environment, "name%d=%0100d,", i, i);
    attributes_put_environment(&lines, bytes_text(&environment));
    assert_in_range(lines.size, ATTRIBUTES_MOST - 200, ATTRIBUTES_MOST + 64);
    struct text left = bytes_text(&lines), name, value;
    size_t kept = 0, told = 0;
    while (process_take_attribute(&left, &name, &value)) {
        char count[32] = "";
        const bool is_count = text_equal(name, TEXT("pyreel.attributes_left_out"));
        memcpy(count, value.bytes, is_count ? value.size : 0);
        told += is_count ? strtoul(count, NULL, 10) : 0;
        kept += !is_count;
    }
    assert_int_equal(kept + told, 10000);
    bytes_free(&environment);
    bytes_free(&lines);
}

/* Nobody holds up the recorder by many attributes: behind the first ones, each is counted unseen. */
static void many_attributes_are_not_looked_at(void **state)
{
    (void)state;
    struct bytes environment = { 0 }, lines = { 0 };
    put_string(&environment, "OTEL_RESOURCE_ATTRIBUTES=");
    for (int i = 0; i < 1000; i++)
        put_string(&environment, "a=b,");
    put_string(&environment, "c=d,,e,f=g");
    attributes_put_environment(&lines, bytes_text(&environment));
    assert_lines(&lines, "a=b\npyreel.attributes_left_out=2\n");
    bytes_free(&environment);
}

TEST_FILE(attributes)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cgroup_names_container_and_pod),
        cmocka_unit_test(what_is_published_goes_first),
        cmocka_unit_test(the_environment_names_the_service),
        cmocka_unit_test(a_large_environment_is_cut),
        cmocka_unit_test(many_attributes_are_not_looked_at),
    };
    return run_all(tests);
}
