/* SPDX-License-Identifier: MIT */
/* A program with CPython inside: embedder HOW HOME [ready]. Works until standard input ends, three quarters of the CPU
 * time in heavy() and one in light(), and says in JSON how much each had. HOW:
 *
 *     script      runs a script
 *     calls       C code calls the two functions again and again
 *     isolated    the same by one function, in an isolated configuration with another program name
 *
 * A third argument: says "ready PID" when Python runs.
 *
 * -DOTHER_NUMBER=0x030c01f0 -DOTHER_TEXT='"3.12.1"': the program has these among its constants, too. */
#include <Python.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef OTHER_NUMBER
static const unsigned long other_number __attribute__((used)) = OTHER_NUMBER;
static const char other_text[] __attribute__((used)) = OTHER_TEXT;
#endif

static const char functions[] = "import time, host\n"
                                "spent = {'heavy': 0.0, 'light': 0.0}\n"
                                "def burn(name, seconds):\n"
                                "    begin = time.thread_time()\n"
                                "    while time.thread_time() - begin < seconds: pass\n"
                                "    spent[name] += time.thread_time() - begin\n"
                                "def heavy(): burn('heavy', 0.006)\n"
                                "def light(): burn('light', 0.002)\n"
                                "def turn(): heavy(); light()\n";
static const char script[] = "while not host.told(): turn()\n";
static const char account[] = "print(str(spent).replace(\"'\", '\"'), flush=True)\n";

static int is_told(void)
{
    struct pollfd input = { .fd = 0, .events = POLLIN };
    return poll(&input, 1, 0) != 0;
}

static PyObject *told(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return PyBool_FromLong(is_told());
}

static PyMethodDef methods[] = { { "told", told, METH_NOARGS, NULL }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef host = { PyModuleDef_HEAD_INIT, "host", NULL, -1, methods, NULL, NULL, NULL, NULL };

static PyObject *make_host(void)
{
    return PyModule_Create(&host);
}

static void call(const char *name)
{
    PyObject *function = PyObject_GetAttrString(PyImport_AddModule("__main__"), name);
    PyObject *result = PyObject_CallNoArgs(function);
    Py_XDECREF(result);
    Py_XDECREF(function);
}

int main(int argc, char **argv)
{
    PyConfig config;
    if (argc < 3)
        return 2;
    const int isolated = strcmp(argv[1], "isolated") == 0;
    PyImport_AppendInittab("host", make_host);
    isolated ? PyConfig_InitIsolatedConfig(&config) : PyConfig_InitPythonConfig(&config);
    PyConfig_SetBytesString(&config, &config.home, argv[2]);
    if (isolated)
        PyConfig_SetString(&config, &config.program_name, L"engine");
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        return 3;
    PyConfig_Clear(&config);
    PyRun_SimpleString(functions);
    if (argc > 3 && printf("ready %d\n", (int)getpid()) > 0)
        fflush(stdout);
    if (strcmp(argv[1], "script") == 0)
        PyRun_SimpleString(script);
    while (!is_told()) {
        call(isolated ? "turn" : "heavy");
        if (!isolated)
            call("light");
    }
    PyRun_SimpleString(account);
    return Py_FinalizeEx() < 0 ? 4 : 0;
}
