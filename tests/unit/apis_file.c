/* SPDX-License-Identifier: MIT */
/* api_file: valid and invalid API files, with the places of mistakes; the installed files. */
#include <errno.h>

#include "trace/catalog/catalog.h"
#include "trace_kit.h"
#include "user/apis/api_file.h"

/* An API file whose one part has these functions, from line 3 on. */
#define FUNCTIONS(text)                                                                            \
	"{\"api\": 1, \"title\": \"t\", \"marks\": {\"7\": {\"title\": \"a\", \"chan_type\": "     \
	"\"stack\"}, \"8\": {\"title\": \"b\", \"chan_type\": \"single\"}},\n"                     \
	"\"parts\": [{\"libraries\": \"libx.so*\", \"functions\": [\n" text "\n]}]}"
#define PART(text) "{\"api\": 1, \"title\": \"t\", \"parts\": [\n" text "\n]}"
#define FUNCTION   "\"functions\": [{\"symbols\": \"f\", \"during\": \"MS[\"}]"
#define MARKS(text)                                                                                \
	"{\"api\": 1, \"title\": \"t\", \"marks\": {\n" text "\n},"                                \
	"\"parts\": [{\"program\": true, " FUNCTION "}]}"

static const struct {
	const char *name, *text;
	const char *wrong; /* a part of the message; NULL if it is accepted */
} apis[] = {
	{"a_pair", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"MS[\"}"), NULL},
	{"all_keys",
	 FUNCTIONS("{\"symbols\": [\"f\", \"g*\"], \"first\": true, \"entry\": [{\"end\": \"PI[\"},"
		   "{\"set\": {\"mark\": 8, \"label\": \"x\"}}], \"during\": {\"mark\": 7},"
		   "\"return\": [{\"begin\": {\"mark\": 7, \"label\": \"y\"}, \"if\": \"zero\"},"
		   "{\"begin\": \"PI[\", \"if\": \"nonzero\"}], \"note\": \"about\"} // so"),
	 NULL},
	{"only_at_entry", FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"begin\": \"PI[\"}]}"),
	 NULL},
	{"only_at_return", FUNCTIONS("{\"symbols\": \"f\", \"return\": [{\"begin\": \"PI[\"}]}"),
	 NULL},
	{"a_program", PART("{\"program\": true, " FUNCTION "}"), NULL},
	{"one_symbol_in_two_parts",
	 PART("{\"libraries\": \"a.so\", " FUNCTION "}, {\"libraries\": \"b.so\", " FUNCTION "}"),
	 NULL},

	{"nothing", "", "line 1, column 1: this is not JSON"},
	{"no_json", "{\"api\": 1,\n\"title\": t}", "line 2, column 10: this is not JSON"},
	{"a_repeated_key", "{\"api\": 1,\n\"api\": 1}", "line 2: the key \"api\" is repeated"},
	{"no_object", "\n[]", "line 2: an API file must be an object"},
	{"no_version", "{\"title\": \"t\", \"parts\": []}",
	 "line 1: an API file needs the key \"api\""},
	{"no_title", "{\"api\": 1, \"parts\": []}", "an API file needs the key \"title\""},
	{"no_parts", "{\"api\": 1, \"title\": \"t\"}", "an API file needs the key \"parts\""},
	{"empty_parts", "{\"api\": 1, \"title\": \"t\",\n\"parts\": []}",
	 "line 2: \"parts\" has none"},
	{"later_version", "{\"title\": \"t\",\n\"api\": 2,\n\"parts\": []}",
	 "line 2: version 2 of the form is not supported, only 1"},
	{"unknown_key", "{\"api\": 1,\n\"titel\": \"t\"}",
	 "line 2: an API file has no key \"titel\", only: api, title, marks, parts"},
	{"the_old_key",
	 "{\"map\": 1, \"title\": \"t\", \"parts\": [{\"program\": true, " FUNCTION "}]}", NULL},
	{"both_keys", "{\"map\": 1,\n\"api\": 1}", "line 2: an API file has no key \"api\""},
	{"wrong_kind", "{\"api\": 1, \"title\":\n3, \"parts\": []}",
	 "line 2: \"title\" must be a string"},

	{"mark_zero", MARKS("\"0\": {\"title\": \"a\", \"chan_type\": \"stack\"}"),
	 "line 2: the type of a mark is a number from 1 to 88"},
	{"mark_too_high", MARKS("\"90\": {\"title\": \"a\", \"chan_type\": \"stack\"}"),
	 "line 2: the type of a mark"},
	{"mark_no_number", MARKS("\"1x\": {\"title\": \"a\", \"chan_type\": \"stack\"}"),
	 "line 2: the type of a mark"},
	{"mark_in_two_spellings", MARKS("\"07\": {\"title\": \"a\", \"chan_type\": \"stack\"}"),
	 "line 2: the type of a mark"},
	{"mark_signed", MARKS("\"+7\": {\"title\": \"a\", \"chan_type\": \"stack\"}"),
	 "line 2: the type of a mark"},
	{"mark_without_title", MARKS("\"7\": {\"chan_type\": \"stack\"}"),
	 "line 2: a mark needs the key \"title\""},
	{"mark_with_empty_title", MARKS("\"7\": {\"title\": \"\", \"chan_type\": \"stack\"}"),
	 "line 2: a title has 1 to 511 bytes"},
	{"mark_of_no_kind", MARKS("\"7\": {\"title\": \"a\", \"chan_type\": \"heap\"}"),
	 "line 2: \"chan_type\" is \"stack\" or \"single\""},

	{"part_without_files", PART("{" FUNCTION "}"), "line 2: a part needs \"libraries\", or"},
	{"part_of_no_program", PART("{\"program\": false, " FUNCTION "}"), "line 2: a part needs"},
	{"part_without_functions", PART("{\"program\": true}"),
	 "line 2: a part needs the key \"functions\""},
	{"part_with_no_functions", PART("{\"program\": true,\n\"functions\": []}"),
	 "line 3: \"functions\" has none"},
	{"a_library_by_its_path", PART("{\"libraries\": [\"a\", \"/opt/lib/b.so\"], " FUNCTION "}"),
	 NULL},
	{"library_in_a_folder", PART("{\"libraries\": [\"a\",\n\"lib/b.so\"], " FUNCTION "}"),
	 "line 2: \"lib/b.so\": name a library by its file name"},
	{"pattern_of_paths", PART("{\"libraries\": \"/opt/*/b.so\", " FUNCTION "}"),
	 "line 2: \"/opt/*/b.so\": name a library by its file name"},
	{"empty_library", PART("{\"libraries\": [\"a\",\n\"\"], " FUNCTION "}"),
	 "line 3: \"libraries\" is a string, or an array of strings"},
	{"spelling_without_a_name",
	 PART("{\"program\": true,\n\"spellings\": \"f_\", " FUNCTION "}"),
	 "line 3: the spelling \"f_\" has none of {name}, {lower} and {upper}"},
	{"spelling_with_two_names",
	 PART("{\"program\": true, \"spellings\": \"{name}{lower}\", " FUNCTION "}"),
	 "line 2: the spelling \"{name}{lower}\" has more than one name"},
	{"no_spellings", PART("{\"program\": true, \"spellings\": [], " FUNCTION "}"),
	 "line 2: \"spellings\" has none"},

	{"no_symbols", FUNCTIONS("{\"during\": \"MS[\"}"),
	 "line 3: a function needs the key \"symbols\""},
	{"an_empty_list_of_symbols", FUNCTIONS("{\"symbols\": [], \"during\": \"MS[\"}"),
	 "line 3: \"symbols\" has none"},
	{"a_number_as_symbol", FUNCTIONS("{\"symbols\": [\"f\", 3], \"during\": \"MS[\"}"),
	 "line 3: \"symbols\" is a string, or an array of strings"},
	{"a_symbol_twice",
	 FUNCTIONS("{\"symbols\": \"f\", \"during\": \"MS[\"},\n"
		   "{\"symbols\": [\"g\", \"f\"], \"during\": \"MR[\"}"),
	 "line 4: f has a meaning already, in line 3"},
	{"no_meaning", FUNCTIONS("{\"symbols\": \"f\"}"),
	 "line 3: a function needs a meaning: during, entry or return"},
	{"empty_steps", FUNCTIONS("{\"symbols\": \"f\", \"entry\": []}"),
	 "a function needs a meaning"},
	{"nine_steps",
	 FUNCTIONS(
		 "{\"symbols\": \"f\", \"entry\": [{\"end\": \"PI[\"}, {\"end\": \"PI[\"},\n"
		 "{\"end\": \"PI[\"}, {\"end\": \"PI[\"}, {\"end\": \"PI[\"}, {\"end\": \"PI[\"},\n"
		 "{\"end\": \"PI[\"}, {\"end\": \"PI[\"}, {\"end\": \"PI[\"}]}"),
	 "line 5: \"entry\" has more than 8 steps"},
	{"a_value_and_a_label",
	 FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"set\": {\"mark\": 8, \"label\": \"x\", "
		   "\"value\": \"arg1\"}}]}"),
	 "a mark is set to a label or to a value"},
	{"a_return_value_at_the_entry",
	 FUNCTIONS(
		 "{\"symbols\": \"f\", \"entry\": [{\"set\": {\"mark\": 8, \"value\": \"ret\"}}]}"),
	 "in \"entry\" a value is argN"},
	{"an_argument_at_the_return",
	 FUNCTIONS("{\"symbols\": \"f\", \"return\": [{\"set\": {\"mark\": 8, \"value\": "
		   "\"arg1\"}}]}"),
	 "in \"return\" a value is ret"},
	{"an_unknown_value",
	 FUNCTIONS(
		 "{\"symbols\": \"f\", \"entry\": [{\"set\": {\"mark\": 8, \"value\": \"rax\"}}]}"),
	 "a value is an integer argument"},
	{"a_step_of_nothing", FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{}]}"),
	 "line 3: a step has one of begin, end and set"},
	{"a_step_of_two",
	 FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"begin\": \"PI[\", \"end\": \"PI[\"}]}"),
	 "a step has one of begin, end and set"},
	{"a_step_that_is_a_string", FUNCTIONS("{\"symbols\": \"f\", \"entry\": [\"PI[\"]}"),
	 "line 3: a step must be an object"},
	{"a_condition_at_the_entry",
	 FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"end\": \"PI[\",\n\"if\": \"zero\"}]}"),
	 "line 4: \"if\" tests the returned value"},
	{"an_unknown_condition",
	 FUNCTIONS("{\"symbols\": \"f\", \"return\": [{\"end\": \"PI[\", \"if\": \"negative\"}]}"),
	 "line 3: \"if\" is \"zero\", \"nonzero\", \"true\" or \"false\""},

	{"unknown_event", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"MX[\"}"),
	 "line 3: there is no event \"MX[\""},
	{"long_event", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"MS[x\"}"),
	 "there is no event \"MS[x\""},
	{"event_that_leaves", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"MS]\"}"),
	 "line 3: MS] leaves a state: name the event that enters it"},
	{"event_without_a_state", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"VSr\"}"),
	 "VSr does not enter a state"},
	{"event_with_arguments", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"VTx\"}"),
	 "VTx has arguments"},
	{"thread_states", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"OHx\"}"),
	 "line 3: OHx is the state of a thread"},
	{"the_kernel", FUNCTIONS("{\"symbols\": \"f\", \"during\": \"KCO\"}"),
	 "which only the recorder writes"},
	{"a_number_as_state", FUNCTIONS("{\"symbols\": \"f\", \"during\": 3}"),
	 "line 3: expected an event (\"MS[\") or a mark"},
	{"undeclared_mark", FUNCTIONS("{\"symbols\": \"f\", \"during\": {\"mark\": 9}}"),
	 "line 3: the mark 9 is not declared"},
	{"mark_between", FUNCTIONS("{\"symbols\": \"f\", \"during\": {\"mark\": 7.5}}"),
	 "the mark 7.5 is not declared"},
	{"mark_out_of_range", FUNCTIONS("{\"symbols\": \"f\", \"during\": {\"mark\": 1e300}}"),
	 "is not declared"},
	{"single_as_state", FUNCTIONS("{\"symbols\": \"f\", \"during\": {\"mark\": 8}}"),
	 "the mark 8 is single: it can only be \"set\""},
	{"stack_set", FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"set\": {\"mark\": 7}}]}"),
	 "the mark 7 is a stack: it cannot be \"set\""},
	{"event_set", FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"set\": \"PI[\"}]}"),
	 "a mark must be an object"},
	{"empty_label",
	 FUNCTIONS("{\"symbols\": \"f\", \"during\": {\"mark\": 7,\n\"label\": \"\"}}"),
	 "line 4: a label has 1 to 511 bytes"},
};

static void apis_are_accepted_or_refused_with_their_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(apis); i++) {
		struct api api;
		const char *heard;
		int err;

		print_message("  %s\n", apis[i].name);
		kit_listen();
		err = api_file_parse(&api, apis[i].text, strlen(apis[i].text), "my.json");
		heard = kit_heard();
		if (apis[i].wrong) {
			assert_true(err < 0);
			kit_one_line_with(heard, apis[i].wrong);
			assert_non_null(strstr(heard, "my.json: line "));
			assert_null(api.text);
		} else {
			assert_int_equal(err, 0);
			assert_string_equal(heard, "");
			api_file_free(&api);
		}
	}
}

static void parse(struct api *api, const char *text)
{
	assert_int_equal(api_file_parse(api, text, strlen(text), "my.json"), 0);
}

static void names_are_spelt_in_all_ways_and_once(void **state)
{
	static const char *const wanted[] = {"MPI_Send", "PMPI_Send", "mpi_send_", "MPI_SEND",
					     "f",	 "Pf",	      "f_",	   "F"};
	struct api api;
	const struct api_function *functions;

	(void)state;
	parse(&api, PART("{\"libraries\": [\"a*\", \"b\"], \"program\": true, \"spellings\": "
			 "[\"{name}\", \"P{name}\", \"{lower}_\", \"{upper}\", \"{name}\"],\n"
			 "\"functions\": [{\"symbols\": \"MPI_Send\", \"during\": \"MS[\"},\n"
			 "{\"symbols\": [\"f\"], \"during\": \"MR[\"}]}"));
	assert_int_equal(api.parts[0].nlibraries, 2);
	assert_true(api.parts[0].program);
	functions = api.parts[0].functions;
	assert_int_equal(api.parts[0].nfunctions, 2);
	assert_int_equal(functions[0].nsymbols, 4);
	assert_int_equal(functions[1].nsymbols, 4);
	for (size_t i = 0; i < COUNT(wanted); i++)
		assert_string_equal(functions[i / 4].symbols[i % 4].text, wanted[i]);
	assert_int_equal(functions[1].line, 4);
	api_file_free(&api);
}

static void meanings_become_actions(void **state)
{
	struct api api;
	const struct action *a;

	(void)state;
	parse(&api,
	      FUNCTIONS("{\"symbols\": \"f\", \"entry\": [{\"end\": \"PI[\"},"
			"{\"set\": {\"mark\": 8, \"label\": \"x\"}}], \"during\": \"MS[\","
			"\"return\": [{\"begin\": {\"mark\": 7}, \"if\": \"zero\"}, {\"begin\":"
			"\"PI[\", \"if\": \"true\"}, {\"end\": \"PI[\"}]}"));
	a = &api.parts[0].functions[0].action;
	assert_int_equal(a->nentry, 2);
	assert_int_equal(a->entry[0].kind, STEP_END);
	assert_int_equal(a->entry[0].effect.enter, MCV('P', 'I', '['));
	assert_int_equal(a->entry[0].effect.leave, MCV('P', 'I', ']'));
	assert_true(a->entry[0].effect.repeats);
	assert_int_equal(a->entry[1].kind, STEP_SET);
	assert_int_equal(a->entry[1].effect.enter, MARK_SET);
	assert_int_equal(a->entry[1].effect.leave, 0);
	assert_int_equal(a->entry[1].effect.type, 8);
	assert_string_equal(a->entry[1].effect.label, "x");
	assert_true(a->has_during && action_returns(a));
	assert_int_equal(a->during.enter, MCV('M', 'S', '['));
	assert_int_equal(a->during.leave, MCV('M', 'S', ']'));
	assert_false(a->during.repeats);
	assert_int_equal(a->nreturn, 3);
	assert_int_equal(a->at_return[0].kind, STEP_BEGIN);
	assert_int_equal(a->at_return[0].when, WHEN_ZERO);
	assert_int_equal(a->at_return[0].effect.enter, MARK_PUSH);
	assert_int_equal(a->at_return[0].effect.leave, MARK_POP);
	assert_null(a->at_return[0].effect.label);
	assert_int_equal(a->at_return[1].when, WHEN_TRUE);
	assert_int_equal(a->at_return[2].kind, STEP_END);
	assert_int_equal(a->at_return[2].when, WHEN_ALWAYS);
	api_file_free(&api);
}

static void too_many_symbols_are_refused(void **state)
{
	char *text = malloc(400000), *at = text;
	struct api api;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "{\"api\": 1, \"title\": \"t\", \"parts\": [{\"program\": true, "
			  "\"functions\": [\n");
	for (int i = 0; i <= API_SYMBOLS_MAX; i++)
		at += sprintf(at, "{\"symbols\": \"f%d\", \"during\": \"MS[\"}%s\n", i,
			      i < API_SYMBOLS_MAX ? "," : "");
	sprintf(at, "]}]}");
	kit_listen();
	assert_int_equal(api_file_parse(&api, text, strlen(text), "x"), -EINVAL);
	kit_one_line_with(kit_heard(), "line 4098: more than 4096 symbols");
	free(text);
}

/* ---- the files that we ship ---- */

static void load(struct api *api, const char *name)
{
	const char *top = getenv("S");
	char path[4096];

	snprintf(path, sizeof(path), "%s/user/apis/%s.json", top ? top : ".", name);
	assert_int_equal(api_file_load(api, path), 0);
}

static bool has_symbol(const struct api_function *function, const char *symbol)
{
	for (size_t i = 0; i < function->nsymbols; i++)
		if (!strcmp(function->symbols[i].text, symbol))
			return true;
	return false;
}

/* In the parts from `first` on. */
static const struct api_function *function_from(const struct api *api, size_t first,
						const char *symbol)
{
	for (size_t i = first; i < api->nparts; i++)
		for (size_t j = 0; j < api->parts[i].nfunctions; j++)
			if (has_symbol(&api->parts[i].functions[j], symbol))
				return &api->parts[i].functions[j];
	return NULL;
}

static const struct api_function *function_of(const struct api *api, const char *symbol)
{
	return function_from(api, 0, symbol);
}

/* The collectives that no rank leaves before all have entered, with their communicator. */
static void check_communicators(const struct api *api, const struct catalog_event *event)
{
	for (size_t part = 0; part < 2; part++) { /* of Open MPI, of MPICH */
		const struct api_function *function = NULL;

		for (size_t i = 0; i < api->parts[part].nfunctions; i++)
			if (has_symbol(&api->parts[part].functions[i], event->label))
				function = &api->parts[part].functions[i];
		assert_int_equal(function != NULL, catalog_synchronises(event->value));
		if (!function)
			continue;
		assert_int_equal(
			function->action.during.enter,
			MCV(event->signature[0], event->signature[1], event->signature[2]));
		assert_int_equal(function->action.nentry, 1);
		assert_int_equal(function->action.nreturn, 0);
	}
}

static void the_api_mpi_has_every_function_of_the_model_in_c_and_fortran(void **state)
{
	const struct catalog_model *model = catalog_model('M');
	struct api api;
	size_t n = 0;

	(void)state;
	load(&api, "mpi");
	for (size_t i = 0; i < model->nevents; i++) {
		const struct catalog_event *event = &model->events[i];
		const struct api_function *function;
		char lower[64];

		if (event->action != ACTION_PUSH)
			continue;
		n++;
		print_message("  %s\n", event->label);
		check_communicators(&api, event);
		function = function_from(&api, 2, event->label);
		assert_non_null(function);
		assert_int_equal(
			function->action.during.enter,
			MCV(event->signature[0], event->signature[1], event->signature[2]));
		assert_int_equal(function->action.nentry + function->action.nreturn, 0);
		for (size_t j = 0; j <= strlen(event->label); j++)
			lower[j] = event->label[j] >= 'A' && event->label[j] <= 'Z'
					   ? (char)(event->label[j] + 'a' - 'A')
					   : event->label[j];
		for (unsigned style = 0; style < 5; style++) {
			static const char *const styles[] = {"P%s", "%s_", "%s__", "%s", "p%s_"};
			char name[80];

			snprintf(name, sizeof(name), styles[style], style ? lower : event->label);
			if (!has_symbol(function, name))
				fail_msg("%s is not spelt %s", event->label, name);
		}
	}
	assert_int_equal(n, 49);
	assert_int_equal(api.parts[2].nfunctions, n);
	api_file_free(&api);
}

static void the_api_nosv_has_every_function_of_the_model(void **state)
{
	const struct catalog_model *model = catalog_model('V');
	struct api api;
	size_t n = 0;

	(void)state;
	load(&api, "nosv");
	for (size_t i = 0; i < model->nevents; i++) {
		const struct catalog_event *event = &model->events[i];
		bool found = false;

		if (event->action != ACTION_PUSH || strncmp(event->label, "API: ", 5) != 0)
			continue;
		n++;
		for (size_t j = 0; j < api.parts[0].nfunctions; j++)
			found |= api.parts[0].functions[j].action.during.enter ==
				 MCV(event->signature[0], event->signature[1], event->signature[2]);
		if (!found)
			fail_msg("%s is not in the api", event->label);
	}
	assert_int_equal(n, 20);
	api_file_free(&api);
}

static void the_api_openmp_knows_both_runtimes(void **state)
{
	static const struct {
		const char *symbol, *during, *ends, *begins;
	} wanted[] = {
		{"GOMP_parallel", "PCf", NULL, NULL},
		{"GOMP_barrier", "PBb", NULL, NULL},
		{"GOMP_critical_start", "PIa", NULL, "PI["},
		{"GOMP_critical_end", "PIr", "PI[", NULL},
		{"GOMP_loop_dynamic_start", "PWy", NULL, "PWc"},
		{"GOMP_loop_nonmonotonic_dynamic_next", NULL, "PWc", "PWc"},
		{"__kmpc_fork_call", "PCf", NULL, NULL},
		{"__kmpc_critical", "PIa", NULL, "PI["},
		{"__kmpc_for_static_init_4", NULL, NULL, "PWs"},
		{"__kmpc_for_static_fini", NULL, "PWs", NULL},
		{"__kmpc_dispatch_next_8u", NULL, "PWc", "PWc"},
		{"*._omp_fn.*", "PMu", NULL, NULL},
	};
	struct api api;

	(void)state;
	load(&api, "openmp");
	for (size_t i = 0; i < COUNT(wanted); i++) {
		const struct api_function *f = function_of(&api, wanted[i].symbol);
		const char *during = wanted[i].during, *ends = wanted[i].ends,
			   *begins = wanted[i].begins;

		print_message("  %s\n", wanted[i].symbol);
		assert_non_null(f);
		assert_int_equal(f->action.has_during, during != NULL);
		if (during)
			assert_int_equal(f->action.during.enter,
					 MCV(during[0], during[1], during[2]));
		assert_int_equal(f->action.nentry, ends != NULL);
		if (ends)
			assert_int_equal(f->action.entry[0].effect.enter,
					 MCV(ends[0], ends[1], ends[2]));
		assert_int_equal(f->action.nreturn, begins != NULL);
		if (begins)
			assert_int_equal(f->action.at_return[0].effect.enter,
					 MCV(begins[0], begins[1], begins[2]));
	}
	assert_true(function_of(&api, "__kmpc_critical")->first);
	api_file_free(&api);
}

static void the_api_pthread_waits_and_holds(void **state)
{
	struct api api;
	const struct api_function *f;

	(void)state;
	load(&api, "pthread");
	assert_string_equal(api.marks[80].title, "Pthread");
	f = function_of(&api, "pthread_mutex_lock");
	assert_non_null(f);
	assert_string_equal(f->action.during.label, "mutex lock");
	assert_int_equal(f->action.at_return[0].when, WHEN_ZERO);
	f = function_of(&api, "pthread_cond_wait");
	assert_non_null(f);
	assert_int_equal(f->action.entry[0].kind, STEP_END);
	assert_int_equal(f->action.at_return[0].kind, STEP_BEGIN);
	for (const char *const *name =
		     (const char *const[]){"pthread_barrier_wait", "pthread_join",
					   "pthread_rwlock_wrlock", "sem_wait", NULL};
	     *name; name++)
		assert_non_null(function_of(&api, *name));
	api_file_free(&api);
}

/* The text of `file` between the lines `from` and `to`. */
static void parse_example(const char *file, const char *from, const char *to)
{
	const char *top = getenv("S");
	char path[4096], *text = calloc(1, 1 << 20), *begin, *end;
	struct api api;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", file);
	in = fopen(path, "r");
	assert_true(text && in);
	assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
	fclose(in);
	begin = strstr(text, from);
	assert_non_null(begin);
	begin += strlen(from);
	end = strstr(begin, to);
	assert_non_null(end);
	assert_int_equal(api_file_parse(&api, begin, (size_t)(end - begin), file), 0);
	api_file_free(&api);
	free(text);
}

static void the_examples_of_the_texts_are_apis(void **state)
{
	(void)state;
	parse_example("docs/apis.md", "```json\n", "```\n");
	parse_example("docs/man/ovni-apis.5", ".Bd -literal -offset indent\n", ".Ed\n");
}

static void an_unknown_api_is_said_with_those_there_are(void **state)
{
	struct api api;

	(void)state;
	kit_listen();
	assert_true(api_file_load(&api, "./nothing.json") < 0);
	kit_one_line_with(kit_heard(), "cannot open './nothing.json': No such file or directory");
	kit_listen();
	assert_true(api_file_load(&api, "") < 0);
	kit_heard();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apis_are_accepted_or_refused_with_their_line),
		cmocka_unit_test(names_are_spelt_in_all_ways_and_once),
		cmocka_unit_test(meanings_become_actions),
		cmocka_unit_test(too_many_symbols_are_refused),
		cmocka_unit_test(the_api_mpi_has_every_function_of_the_model_in_c_and_fortran),
		cmocka_unit_test(the_api_nosv_has_every_function_of_the_model),
		cmocka_unit_test(the_api_openmp_knows_both_runtimes),
		cmocka_unit_test(the_api_pthread_waits_and_holds),
		cmocka_unit_test(the_examples_of_the_texts_are_apis),
		cmocka_unit_test(an_unknown_api_is_said_with_those_there_are),
	};

	return cmocka_run_group_tests_name("apis_file", tests, kit_open, kit_close);
}
