/* A stock selector: select_NAME.so with plugin_id ID. Each function notes its arguments for the test. */
#include "fake.h"

const char plugin_name[] = "fake selection";
const char plugin_type[] = "select/" NAME;
uint32_t plugin_version;
const uint32_t plugin_id = ID;

__attribute__((constructor)) static void on_load(void)
{
	plugin_version = fake_version;
}

int init(void)
{
	fake_tell(NAME ": init");
	return 0;
}

#define HEARD(name, format, ...) fake_tell(NAME ": " #name format, ##__VA_ARGS__)
#define ANSWER(result) return fake_agrees ? 0 : RESULT(result)

#define FUNCTION0(result, name) \
	result select_p_##name(void) \
	{ HEARD(name, ""); ANSWER(result); }
#define FUNCTION1(result, name, A) \
	result select_p_##name(A a) \
	{ HEARD(name, FMT1, L(a)); ANSWER(result); }
#define FUNCTION2(result, name, A, B) \
	result select_p_##name(A a, B b) \
	{ HEARD(name, FMT2, L(a), L(b)); ANSWER(result); }
#define FUNCTION3(result, name, A, B, C) \
	result select_p_##name(A a, B b, C c) \
	{ HEARD(name, FMT3, L(a), L(b), L(c)); ANSWER(result); }
#define FUNCTION4(result, name, A, B, C, D) \
	result select_p_##name(A a, B b, C c, D d) \
	{ HEARD(name, FMT4, L(a), L(b), L(c), L(d)); ANSWER(result); }
#define FUNCTION9(result, name, A, B, C, D, E, F, G, H, I) \
	result select_p_##name(A a, B b, C c, D d, E e, F f, G g, H h, I i) \
	{ HEARD(name, FMT9, L(a), L(b), L(c), L(d), L(e), L(f), L(g), L(h), L(i)); ANSWER(result); }
#define FUNCTION10(result, name, A, B, C, D, E, F, G, H, I, J) \
	result select_p_##name(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j) \
	{ HEARD(name, FMT10, L(a), L(b), L(c), L(d), L(e), L(f), L(g), L(h), L(i), L(j)); ANSWER(result); }
#define PROCEDURE1(name, A) \
	void select_p_##name(A a) \
	{ HEARD(name, FMT1, L(a)); }

#include "interface.h"
