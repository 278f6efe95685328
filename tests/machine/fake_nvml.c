#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OK 0
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT_SIZE 7
#define TIMEOUT 10
#define EXPORT __attribute__((visibility("default")))
#define TELL(function, type, value) EXPORT int function(struct gpu *device, type *told) { *told = value; return OK; }
#define TEXT(function, value) \
    EXPORT int function(struct gpu *device, char *told, unsigned length) { strncpy(told, value, length); return OK; }
#define PAIR(function, type, first, second) \
    EXPORT int function(struct gpu *device, type *one, type *other) { *one = first; *other = second; return OK; }
#define CLOCK(function, memory, others) \
    EXPORT int function(struct gpu *device, int type, unsigned *mhz) { *mhz = type == 2 ? memory : others; return OK; }

struct gpu { const char *name; int major, minor; int mig; unsigned long long memory; };
#include "recorded.h"

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { void *device; unsigned long long type, data; unsigned instance, compute; } event_t;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute; } process_t;
typedef struct { unsigned long long reference, violation; } violation_t;

/* Every answer may be changed by a process while it runs: it writes name=number lines into the file FAKE_NVML names. */
static unsigned long long now(const char *name, unsigned long long otherwise) {
    char line[128];
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : 0;
    size_t length = strlen(name);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, length) && line[length] == '=') otherwise = strtoull(line + length + 1, 0, 10);
    if (file) fclose(file);
    return otherwise;
}

EXPORT int nvmlInitWithFlags(unsigned flags) { return INIT; }
EXPORT int nvmlShutdown(void) { return OK; }
EXPORT const char *nvmlErrorString(int code) { return "as recorded"; }
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, DRIVER, length); return OK; }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = CUDA; return OK; }
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return OK; }
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if (index == LOST) return 15;
    if (index >= COUNT) return 2; /* invalid argument */
    *handle = (void *)&gpus[index];
    return OK;
}
EXPORT int nvmlDeviceGetMigMode(struct gpu *device, unsigned *mode, unsigned *later) {
    if (device->mig < 0) return NOT_SUPPORTED;
    *mode = *later = device->mig;
    return OK;
}
EXPORT int nvmlDeviceGetUUID(struct gpu *device, char *text, unsigned length) {
    snprintf(text, length, "GPU-00000000-0000-0000-0000-%012x", (int)(device - gpus));
    return OK;
}
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
    char own[64];
    for (int index = 0; index < COUNT; index++) {
        nvmlDeviceGetUUID((struct gpu *)&gpus[index], own, sizeof own);
        if (!strcmp(own, uuid)) {
            *handle = (void *)&gpus[index];
            return OK;
        }
    }
    return NOT_FOUND;
}
#ifndef WITHOUT_XID
static unsigned reported;
EXPORT int nvmlEventSetCreate(void **set) { *set = &reported; return OK; }
EXPORT int nvmlDeviceRegisterEvents(struct gpu *device, unsigned long long types, void *set) {
    return types == 8 ? OK : NOT_SUPPORTED;
}
EXPORT int nvmlEventSetWait_v2(void *set, event_t *event, unsigned milliseconds) {
    if (milliseconds) return 999; /* nobody may wait between windows */
    if (reported >= now("xid-count", 0)) return TIMEOUT;
    reported++;
    memset(event, 0, sizeof *event);
    event->type = 8;
    event->data = now("xid", 79);
    return OK;
}
EXPORT int nvmlEventSetFree(void *set) { return OK; }
#endif
EXPORT int nvmlDeviceGetTemperature(struct gpu *device, int sensor, unsigned *celsius) {
    *celsius = now("temperature", 54);
    return OK;
}
#ifndef WITHOUT_POLICIES
EXPORT int nvmlDeviceGetViolationStatus(struct gpu *device, int policy, violation_t *told) {
    if (policy == 5) return NOT_SUPPORTED;
    told->violation = now(policy == 0 ? "held-by-power" : policy == 1 ? "held-by-heat" : "held", 0);
    return OK;
}
#endif
EXPORT int nvmlDeviceGetTotalEccErrors(struct gpu *device, int kind, int counter, unsigned long long *count) {
    *count = now(kind ? "ecc-uncorrected" : "ecc-corrected", 0);
    return OK;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct gpu *device, unsigned *count, process_t *found) {
    unsigned pid = now("pid", 0), other = now("other-pid", 0), there = (pid != 0) + (other != 0);
    if (!there) { *count = 0; return OK; }
    if (!found || *count < there) { *count = there; return INSUFFICIENT_SIZE; }
    *count = there;
    if (other) { found[there - 1].pid = other; found[there - 1].used = now("other-bytes", 1 << 30); }
    if (pid) { found[0].pid = pid; found[0].used = now("process-bytes", 1 << 30); }
    return OK;
}
EXPORT int nvmlDeviceGetMemoryInfo(struct gpu *device, memory_t *memory) {
    memory->total = device->memory;
    memory->free = now("free", device->memory);
    memory->used = memory->total - memory->free;
    return OK;
}
EXPORT int nvmlDeviceGetUtilizationRates(struct gpu *device, rates_t *rates) {
    rates->gpu = now("utilisation", 97);
    rates->memory = now("memory-utilisation", 41);
    return OK;
}
EXPORT int nvmlDeviceGetVbiosVersion(struct gpu *device, char *text, unsigned length) {
    snprintf(text, length, "96.00.%02llX.00.01", now("vbios", 0x89));
    return OK;
}
/* The driver brings the firmware, and its version is the driver's. */
EXPORT int nvmlDeviceGetGspFirmwareVersion(struct gpu *device, char *text) { strcpy(text, DRIVER); return OK; }
TEXT(nvmlDeviceGetName, device->name)
TEXT(nvmlDeviceGetInforomImageVersion, "G520.0200.00.05")
PAIR(nvmlDeviceGetCudaComputeCapability, int, device->major, device->minor)
PAIR(nvmlDeviceGetEccMode, unsigned, now("ecc", 1), now("ecc-pending", *one))
PAIR(nvmlDeviceGetGspFirmwareMode, unsigned, now("gsp", 1), 1)
TELL(nvmlDeviceGetIndex, unsigned, device - gpus)
TELL(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, now("energy", 5000000))
TELL(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, now("reasons", 0))
TELL(nvmlDeviceGetComputeMode, int, now("mode", 0))
TELL(nvmlDeviceGetPersistenceMode, int, now("persistence", 1))
TELL(nvmlDeviceGetPowerUsage, unsigned, now("power", 310000))
TELL(nvmlDeviceGetEnforcedPowerLimit, unsigned, now("power-enforced", 700000))
TELL(nvmlDeviceGetPowerManagementLimit, unsigned, now("power-limit", 700000))
TELL(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, now("power-default", 700000))
TELL(nvmlDeviceGetPerformanceState, unsigned, now("pstate", 0))
CLOCK(nvmlDeviceGetClockInfo, now("memory-clock", 2619), type == 1 ? now("sm", 1755) : now("memory-clock", 2619))
CLOCK(nvmlDeviceGetMaxClockInfo, 2619, 1980)
#ifndef WITHOUT_LINK
TELL(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, now("generation-most", 5))
TELL(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, now("generation", 5))
TELL(nvmlDeviceGetMaxPcieLinkWidth, unsigned, now("width-most", 16))
TELL(nvmlDeviceGetCurrPcieLinkWidth, unsigned, now("width", 16))
#endif
#ifndef WITHOUT_APPLICATION_CLOCKS
CLOCK(nvmlDeviceGetApplicationsClock, now("application-memory", 2619), now("application-graphics", 1980))
CLOCK(nvmlDeviceGetDefaultApplicationsClock, 2619, 1980)
#endif
