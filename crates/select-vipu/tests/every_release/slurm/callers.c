/* Calls of the plugins' functions as slurmctld makes them, with the types of this series' headers. */
#include "fake.h"
#include <arpa/inet.h>
#include <string.h>

#define SENT(name, format, ...) fake_tell("sent: " #name format, ##__VA_ARGS__)
#define GOT(result, value) fake_tell((value) == RESULT(result) ? "got its result" : "got another result")

#define FUNCTION0(result, name) \
	static void call_##name(void *function) \
	{ \
		SENT(name, ""); \
		GOT(result, ((result (*)(void))function)()); \
	}
#define FUNCTION1(result, name, A) \
	static void call_##name(void *function) \
	{ \
		A a = SAMPLE(A, 1); \
		SENT(name, FMT1, L(a)); \
		GOT(result, ((result (*)(A))function)(a)); \
	}
#define FUNCTION2(result, name, A, B) \
	static void call_##name(void *function) \
	{ \
		A a = SAMPLE(A, 1); B b = SAMPLE(B, 2); \
		SENT(name, FMT2, L(a), L(b)); \
		GOT(result, ((result (*)(A, B))function)(a, b)); \
	}
#define FUNCTION3(result, name, A, B, C) \
	static void call_##name(void *function) \
	{ \
		A a = SAMPLE(A, 1); B b = SAMPLE(B, 2); C c = SAMPLE(C, 3); \
		SENT(name, FMT3, L(a), L(b), L(c)); \
		GOT(result, ((result (*)(A, B, C))function)(a, b, c)); \
	}
#define FUNCTION4(result, name, A, B, C, D) \
	static void call_##name(void *function) \
	{ \
		A a = SAMPLE(A, 1); B b = SAMPLE(B, 2); C c = SAMPLE(C, 3); D d = SAMPLE(D, 4); \
		SENT(name, FMT4, L(a), L(b), L(c), L(d)); \
		GOT(result, ((result (*)(A, B, C, D))function)(a, b, c, d)); \
	}
#define NINE(A, B, C, D, E, F, G, H, I) \
	A a = SAMPLE(A, 1); B b = SAMPLE(B, 2); C c = SAMPLE(C, 3); D d = SAMPLE(D, 4); E e = SAMPLE(E, 5); \
	F f = SAMPLE(F, 6); G g = SAMPLE(G, 7); H h = SAMPLE(H, 8); I i = SAMPLE(I, 9);
#define FUNCTION9(result, name, A, B, C, D, E, F, G, H, I) \
	static void call_##name(void *function) \
	{ \
		NINE(A, B, C, D, E, F, G, H, I) \
		SENT(name, FMT9, L(a), L(b), L(c), L(d), L(e), L(f), L(g), L(h), L(i)); \
		GOT(result, ((result (*)(A, B, C, D, E, F, G, H, I))function)(a, b, c, d, e, f, g, h, i)); \
	}
#define FUNCTION10(result, name, A, B, C, D, E, F, G, H, I, J) \
	static void call_##name(void *function) \
	{ \
		NINE(A, B, C, D, E, F, G, H, I) J j = SAMPLE(J, 10); \
		SENT(name, FMT10, L(a), L(b), L(c), L(d), L(e), L(f), L(g), L(h), L(i), L(j)); \
		GOT(result, ((result (*)(A, B, C, D, E, F, G, H, I, J))function)(a, b, c, d, e, f, g, h, i, j)); \
	}
#define PROCEDURE1(name, A) \
	static void call_##name(void *function) \
	{ \
		A a = SAMPLE(A, 1); \
		SENT(name, FMT1, L(a)); \
		((void (*)(A))function)(a); \
		fake_tell("got its result"); \
	}

#include "interface.h"

#undef FUNCTION0
#undef FUNCTION1
#undef FUNCTION2
#undef FUNCTION3
#undef FUNCTION4
#undef FUNCTION9
#undef FUNCTION10
#undef PROCEDURE1
#define ENTRY(name) { "select_p_" #name, call_##name },
#define FUNCTION0(result, name) ENTRY(name)
#define FUNCTION1(result, name, ...) ENTRY(name)
#define FUNCTION2 FUNCTION1
#define FUNCTION3 FUNCTION1
#define FUNCTION4 FUNCTION1
#define FUNCTION9 FUNCTION1
#define FUNCTION10 FUNCTION1
#define PROCEDURE1(name, A) ENTRY(name)

/* Slurm's own table, without its first entry "plugin_id". */
const struct { const char *name; void (*call)(void *function); } fake_select_table[] = {
#include "interface.h"
	{ NULL, NULL },
};

/* One node to choose from. */
static int64_t nodes[2] = { 0x42434445, 0 };

int fake_call_job_test(void *function, void *job, uint16_t mode)
{
#if SERIES <= 2405
	return ((int (*)(ptr, ptr, u32, u32, u32, u16, ptr, ptr, ptr))function)(job, nodes, 1, 1, 1, mode, NULL, NULL, NULL);
#else
	return ((int (*)(ptr, ptr, u32, u32, u32, u16, ptr, ptr, ptr, ptr))function)(job, nodes, 1, 1, 1, mode, NULL, NULL,
										   NULL, NULL);
#endif
}

int fake_call_job_modify(void *function, void *message, void *job, uint32_t user, char **err_msg)
{
	typedef int (*job_modify)(void *, void *, uint32_t, char **);
#if SERIES == 2205
	/* Three arguments: the register of a fourth can hold any value. */
	err_msg = (char **)1;
#endif
	return ((job_modify)function)(message, job, user, err_msg);
}

/* Packs an id behind the beginning of a file or message, and lets the plugin pack its data behind the id. Returns the
 * id that is in the buffer then. */
uint32_t fake_call_jobinfo_pack(void *function, const char *begin, uint32_t begin_size, uint32_t id)
{
	char data[64] = { 0 };
	struct { uint32_t magic; char *head; uint32_t size, processed; } buffer =
		{ 0x42554545, data, sizeof(data), begin_size + sizeof(id) };
	id = htonl(id);
	memcpy(data, begin, begin_size);
	memcpy(data + begin_size, &id, sizeof(id));
	((int (*)(ptr, ptr, u16))function)(NULL, &buffer, 1);
	memcpy(&id, data + begin_size, sizeof(id));
	return ntohl(id);
}
