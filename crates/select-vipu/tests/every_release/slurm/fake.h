/* Declarations for the fake Slurm and its selectors. SERIES is a number, for example 2205 for 22.05. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds a line to the test's notes. */
void fake_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

extern uint32_t fake_version; /* SLURM_VERSION_NUMBER */
extern bool fake_agrees;      /* selectors answer 0 */

typedef void *ptr;
typedef uint32_t u32;
typedef uint16_t u16;

/* An argument or result in which the loss of any bit is noticed. */
#define SAMPLE(type, number) ((type)(0xb1e2d3c4a5968790 + (number)))
#define RESULT(type) SAMPLE(type, 0x100 * __LINE__)

#define FMT1 " %#lx"
#define FMT2 FMT1 FMT1
#define FMT3 FMT2 FMT1
#define FMT4 FMT2 FMT2
#define FMT9 FMT4 FMT4 FMT1
#define FMT10 FMT9 FMT1
#define L(value) (unsigned long)(value)
