/* SPDX-License-Identifier: MIT */
/* apis: from names to requests, from sites to actions, and missing functions. */
#include <errno.h>

#include "trace_kit.h"
#include "user/apis/apis.h"
#include "user/probes/request.h"
#include "user/probes/resolve.h"

static const char a_api[] =
	"{\"api\": 1, \"title\": \"t\", \"marks\": {\"7\": {\"title\": \"a\", \"chan_type\": "
	"\"stack\"}},\n"
	"\"parts\": [{\"libraries\": [\"libx.so*\", \"liby.so*\"], \"spellings\": [\"{name}\", "
	"\"P{name}\"],\n"
	"\"functions\": [{\"symbols\": \"Send\", \"during\": \"MS[\"}, {\"symbols\": [\"Recv\", "
	"\"Wait\"], \"during\": \"MR[\"},\n"
	"{\"symbols\": [\"new\", \"old\"], \"first\": true, \"return\": [{\"begin\": \"PI[\", "
	"\"if\": \"zero\"}]},\n"
	"{\"symbols\": \"s*\", \"during\": {\"mark\": 7}}]},\n"
	"{\"program\": true, \"functions\": [{\"symbols\": \"main\", \"during\": {\"mark\": 7, "
	"\"label\": \"m\"}}]}]}";
static const char another_api[] =
	"{\"api\": 1, \"title\": \"t\",\n\"marks\": {\"7\": {\"title\": \"b\", \"chan_type\": "
	"\"stack\"}},\n"
	"\"parts\": [{\"program\": true, \"functions\": [{\"symbols\": \"f\", \"during\": "
	"{\"mark\": 7}}]}]}";
static const char libraries_only[] =
	"{\"api\": 1, \"title\": \"t\", \"parts\": [{\"libraries\": \"l\", \"functions\": "
	"[{\"symbols\": \"f\", \"during\": \"MS[\"}]}]}";

static char paths[3][128];
static const char *const names[] = {paths[0], paths[1], paths[2]};

static int write_apis(void **state)
{
	static const char *const texts[] = {a_api, another_api, libraries_only};

	if (kit_open(state))
		return -1;
	for (size_t i = 0; i < COUNT(texts); i++) {
		char file[32];

		snprintf(file, sizeof(file), "api%zu.json", i);
		kit_file(file, texts[i], strlen(texts[i]));
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", kit_folder, file);
	}
	return 0;
}

/* The recorder's own executable is the program. */
static char *command[] = {(char *)"launcher",	 (char *)"-n", (char *)"4", NULL,
			  (char *)"/etc/passwd", NULL};
static struct resolve_scope scope = {.command = command, .proc = "/proc", .root = ""};

static void ask(struct apis *apis, struct requests *requests, size_t napis)
{
	static char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	command[3] = self;
	*requests = (struct requests){0};
	assert_int_equal(apis_load(apis, names, napis), 0);
	assert_int_equal(apis_add_requests(apis, &scope, requests), 0);
}

static uint32_t request_of(const struct requests *requests, const char *binary, const char *name)
{
	for (uint32_t i = 0; i < requests->count; i++)
		if (requests->list[i].binary && !strcmp(requests->list[i].binary, binary) &&
		    !strcmp(requests->list[i].name, name))
			return i;
	fail_msg("nobody asks for %s in %s", name, binary);
	return 0;
}

static void every_symbol_is_asked_for_in_every_file(void **state)
{
	static const char *const symbols[] = {"Send", "PSend", "Recv", "PRecv", "Wait", "PWait",
					      "new",  "Pnew",  "old",  "Pold",	"s*",	"Ps*"};
	struct requests requests;
	struct apis apis;

	(void)state;
	ask(&apis, &requests, 1);
	for (size_t i = 0; i < COUNT(symbols); i++) {
		request_of(&requests, "libx.so*", symbols[i]);
		request_of(&requests, "liby.so*", symbols[i]);
	}
	/* the command, which is looked for in $PATH, and the program among its arguments */
	request_of(&requests, "launcher", "main");
	request_of(&requests, command[3], "main");
	assert_int_equal(requests.count, 2 * COUNT(symbols) + 2);
	for (size_t i = 0; i < requests.count; i++) {
		const char *name = requests.list[i].name;

		assert_true(requests.list[i].optional);
		assert_int_equal(requests.list[i].kind, REQUEST_FUNCTION);
		/* the returned value is read only for a condition */
		assert_int_equal(requests.list[i].value.source,
				 strstr(name, "new") || strstr(name, "old") ? SITE_RETURN
									    : SITE_NOTHING);
	}
	requests_free(&requests);
	apis_free(&apis);
}

static void the_same_program_is_asked_once(void **state)
{
	const uint32_t pids[] = {(uint32_t)getpid(), (uint32_t)getpid(), 1u << 22};
	const struct resolve_scope both = {
		.pids = pids, .npids = COUNT(pids), .proc = "/proc", .root = ""};
	struct requests requests = {0};
	struct apis apis;
	size_t n = 0;

	(void)state;
	assert_int_equal(apis_load(&apis, names, 1), 0);
	assert_int_equal(apis_add_requests(&apis, &both, &requests), 0);
	for (size_t i = 0; i < requests.count; i++) {
		if (requests.list[i].binary)
			continue;
		n++;
		assert_int_equal(requests.list[i].pid, pids[0]);
		assert_string_equal(requests.list[i].name, "main");
	}
	assert_int_equal(n, 1);
	requests_free(&requests);
	apis_free(&apis);
}

static struct site site_of(uint32_t request, ino_t inode, uint64_t offset, const char *label)
{
	return (struct site){.request = request, .inode = inode, .offset = offset, .label = label};
}

static void sites_get_the_meaning_of_their_function(void **state)
{
	struct requests requests;
	struct actions actions = {0};
	struct site list[6];
	struct sites sites = {.list = list};
	struct apis apis;

	(void)state;
	ask(&apis, &requests, 1);
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "Pold"), 1, 10, "old");
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "new"), 1, 20, "new");
	list[sites.count++] = site_of(request_of(&requests, "liby.so*", "old"), 2, 10, "old");
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "s*"), 1, 30, "sum");
	list[sites.count++] = site_of(request_of(&requests, command[3], "main"), 3, 30, "main");
	list[sites.count++] = site_of((uint32_t)requests.count, 3, 40, "of no API file");

	/* of the first file, only the better name stays */
	assert_int_equal(apis_choose(&apis, &sites), 0);
	assert_int_equal(sites.count, 5);
	assert_string_equal(sites.list[0].label, "new");
	assert_string_equal(sites.list[1].label, "old");
	assert_int_equal(sites.list[1].inode, 2);

	assert_int_equal(actions_new(&actions, sites.count), 0);
	assert_int_equal(apis_act(&apis, &sites, &actions), 0);
	assert_int_equal(actions.list[0].nreturn, 1);
	assert_int_equal(actions.list[0].at_return[0].effect.enter, MCV('P', 'I', '['));
	assert_true(actions.list[2].has_during);
	assert_string_equal(actions.list[2].during.label, "sum"); /* its own */
	assert_int_equal(actions.list[2].during.type, 7);
	assert_string_equal(actions.list[3].during.label, "m");
	assert_false(actions.list[4].has_during || actions.list[4].nentry);
	assert_null(actions.types[0].title);
	assert_string_equal(actions.types[7].title, "a");
	actions_free(&actions);
	requests_free(&requests);
	apis_free(&apis);
}

static void a_mark_means_the_same_in_all_apis(void **state)
{
	struct apis apis;

	(void)state;
	kit_listen();
	assert_int_equal(apis_load(&apis, names, 2), -EEXIST);
	kit_one_line_with(kit_heard(), "api1.json: line 2: the mark 7 is declared otherwise in");
}

/* The message if exactly the symbols of `there` are found, in all files. */
static const char *said(struct apis *apis, const struct requests *requests,
			const char *const *there)
{
	struct resolve_missing missing[64];
	struct sites sites = {.missing = missing};

	for (uint32_t i = (uint32_t)requests->count; i-- > 0;) {
		const char *const *name = there;

		while (*name && strcmp(*name, requests->list[i].name))
			name++;
		if (!*name)
			missing[sites.nmissing++] = (struct resolve_missing){.request = i};
	}
	kit_listen();
	apis_report(apis, &sites);
	return kit_heard();
}

static void missing_functions_are_listed_once(void **state)
{
	struct requests requests;
	struct apis apis;

	(void)state;
	ask(&apis, &requests, 1);
	/* one spelling is enough, one of the names is enough for `first`, a glob is never missing,
	 * and of a part of which nothing is there nothing is missing */
	assert_string_equal(said(&apis, &requests,
				 (const char *const[]){"PSend", "Recv", "Wait", "Pold", NULL}),
			    "");
	kit_one_line_with(said(&apis, &requests, (const char *const[]){"Send", "new", NULL}),
			  "2 of 4 names were not found: Recv, Wait\n");
	kit_one_line_with(said(&apis, &requests, (const char *const[]){"Wait", "main", NULL}),
			  "3 of 5 names were not found: Send, Recv, new\n");
	assert_string_equal(said(&apis, &requests, (const char *const[]){"main", NULL}), "");
	kit_one_line_with(said(&apis, &requests, (const char *const[]){NULL}),
			  "found none of its functions");
	requests_free(&requests);
	apis_free(&apis);
}

static const char *joined(struct apis *apis, const struct requests *requests, struct sites *sites,
			  struct actions *actions)
{
	for (size_t i = 0; i < sites->count; i++)
		if (!apis_mean(apis, &sites->list[i]))
			assert_int_equal(actions_of_site(actions, i, &sites->list[i]), 0);
	assert_int_equal(apis_join(apis, requests, sites, actions), 0);
	kit_listen();
	apis_report(apis, sites);
	return kit_heard();
}

static void a_function_has_all_meanings_that_go_together(void **state)
{
	static const char *const two[] = {paths[0], paths[2]}; /* mpi, and marks of the type 7 */
	struct requests requests = {0};
	struct actions actions = {0};
	struct resolve_double doubles[8];
	struct site list[3];
	struct sites sites = {.list = list, .doubles = doubles};
	struct apis apis;
	uint32_t send, psend, recv, new, old, other, call;
	size_t at;

	(void)state;
	assert_null(requests_add_functions(&requests, "libx:Send(arg2),Recv", &at));
	assert_int_equal(apis_load(&apis, two, 2), 0);
	assert_int_equal(apis_add_requests(&apis, &scope, &requests), 0);
	send = request_of(&requests, "libx.so*", "Send");
	psend = request_of(&requests, "libx.so*", "PSend");
	recv = request_of(&requests, "libx.so*", "Recv");
	new = request_of(&requests, "libx.so*", "new");
	old = request_of(&requests, "libx.so*", "old");
	other = request_of(&requests, "l", "f");
	/* -u Send(arg2), which both apis mean, one of them by two names; -u Recv, and a function of
	 * the first api that reads the returned value; one of the first api that is also in the
	 * second one */
	list[sites.count++] = site_of(0, 1, 10, "Send");
	list[0].value = requests.list[0].value;
	list[sites.count++] = site_of(1, 1, 20, "Recv");
	list[sites.count++] = site_of(old, 1, 30, "old");
	doubles[sites.ndoubles++] = (struct resolve_double){send, 0, 0, false};
	doubles[sites.ndoubles++] = (struct resolve_double){psend, 0, 0, false};
	doubles[sites.ndoubles++] = (struct resolve_double){new, 0, 0, false};
	doubles[sites.ndoubles++] = (struct resolve_double){recv, 1, 1, false};
	doubles[sites.ndoubles++] = (struct resolve_double){other, old, 2, false};
	assert_int_equal(actions_new(&actions, sites.count), 0);
	assert_int_equal(apis_act(&apis, &sites, &actions), 0);
	assert_string_equal(joined(&apis, &requests, &sites, &actions), "");
	assert_int_equal(actions.list[0].nentry, 1); /* the argument */
	assert_int_equal(actions.list[0].during.type, 0);
	assert_int_equal(actions.list[0].nalso, 1);
	assert_int_equal(actions.list[0].also[0].enter, MCV('M', 'S', '['));
	assert_int_equal(list[0].value.source, SITE_ARGUMENT);
	assert_int_equal(actions.list[1].also[0].enter, MCV('M', 'R', '['));
	assert_int_equal(list[1].value.source, SITE_NOTHING);
	assert_int_equal(actions.list[2].during.enter, MCV('M', 'S', '['));
	assert_int_equal(actions.list[2].nreturn, 1);
	actions_free(&actions);

	/* a record has several values: an argument, and the returned value */
	sites.ndoubles = 0;
	doubles[sites.ndoubles++] = (struct resolve_double){new, 0, 0, false};
	doubles[sites.ndoubles++] = (struct resolve_double){new, 1, 1, false};
	call = request_of(&requests, "liby.so*", "Send");
	list[2] = site_of(send, 1, 30, "Send");
	doubles[sites.ndoubles++] = (struct resolve_double){other, send, 2, false};
	(void)call;
	assert_int_equal(actions_new(&actions, sites.count), 0);
	assert_int_equal(apis_act(&apis, &sites, &actions), 0);
	joined(&apis, &requests, &sites, &actions);
	assert_true(doubles[0].joined);
	assert_int_equal(list[0].values[0].source, SITE_ARGUMENT);
	assert_int_equal(list[0].values[1].source, SITE_RETURN);
	assert_int_equal(actions.list[0].at_return[0].index, 1);
	assert_true(doubles[1].joined);
	assert_int_equal(list[1].value.source, SITE_RETURN);
	assert_int_equal(list[1].value.bytes, 8);
	assert_false(doubles[2].joined); /* both are functions of mpi */
	kit_listen();
	apis_report(&apis, &sites);
	at = 0;
	for (const char *line = kit_heard(); (line = strstr(line, "keeps the meaning")); line++)
		at++;
	assert_int_equal(at, 1);
	actions_free(&actions);
	requests_free(&requests);
	apis_free(&apis);
}

static void doubles_follow_their_sites(void **state)
{
	struct requests requests;
	struct apis apis;
	struct site list[3];
	struct resolve_double doubles[2];
	struct sites sites = {.list = list, .doubles = doubles, .ndoubles = 2};

	(void)state;
	ask(&apis, &requests, 1);
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "old"), 1, 10, "old");
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "new"), 1, 20, "new");
	list[sites.count++] = site_of(request_of(&requests, "libx.so*", "Send"), 1, 30, "Send");
	doubles[0] = (struct resolve_double){9, 9, 0, false};
	doubles[1] = (struct resolve_double){9, 9, 2, false};
	assert_int_equal(apis_choose(&apis, &sites), 0);
	assert_int_equal(sites.count, 2);
	assert_int_equal(sites.ndoubles, 1); /* a site that is left out takes its double with it */
	assert_int_equal(doubles[0].site, 1);
	requests_free(&requests);
	apis_free(&apis);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_symbol_is_asked_for_in_every_file),
		cmocka_unit_test(the_same_program_is_asked_once),
		cmocka_unit_test(sites_get_the_meaning_of_their_function),
		cmocka_unit_test(a_mark_means_the_same_in_all_apis),
		cmocka_unit_test(missing_functions_are_listed_once),
		cmocka_unit_test(a_function_has_all_meanings_that_go_together),
		cmocka_unit_test(doubles_follow_their_sites),
	};

	return cmocka_run_group_tests_name("user_apis", tests, write_apis, kit_close);
}
