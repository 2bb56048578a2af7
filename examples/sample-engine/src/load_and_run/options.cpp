#include "load_and_run/options.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace sample {
namespace {

// Exactly one of the three members is set.
struct Flag {
    const char* name;
    const char* meaning;
    bool Options::*on;
    int Options::*number;
    std::string Options::*words;
};

constexpr Flag switched(const char* name, bool Options::*on, const char* meaning) {
    return {name, meaning, on, nullptr, nullptr};
}

constexpr Flag counted(const char* name, int Options::*number, const char* meaning) {
    return {name, meaning, nullptr, number, nullptr};
}

constexpr Flag named(const char* name, std::string Options::*words, const char* meaning) {
    return {name, meaning, nullptr, nullptr, words};
}

constexpr Flag kFlags[] = {
        counted("iter", &Options::iter, "how often to run the model"),
        counted("warmup_iter", &Options::warmup_iter, "runs before those, which do not count"),
        switched("fast_run", &Options::fast_run, "measure the algorithms, take the fastest"),
        switched("full_run", &Options::full_run, "the same, slow algorithms included"),
        named("fast_run_algo_policy", &Options::fast_run_algo_policy,
              "file of recorded algorithms: read, and written after measuring"),
        switched("enable_nchw44", &Options::enable_nchw44, "keep channels in blocks of four"),
        switched("weight_preprocess", &Options::weight_preprocess,
                 "transform weights once, not in every run"),
        switched("fake_first", &Options::fake_first, "let the first warm-up only prepare"),
        switched("record_comp_seq", &Options::record_comp_seq,
                 "note down the first run and repeat it"),
        named("input", &Options::input,
              "NAME:DATA[;NAME:DATA]: a .npy file, numbers [1,2] or a shape {1,2}"),
        named("bin_out_dump", &Options::bin_out_dump, "folder for the outputs of every run"),
        switched("cpu", &Options::cpu, "run on the CPU"),
        switched("cpu_default", &Options::cpu_default, "run on the CPU, in the calling thread"),
        counted("multithread", &Options::multithread, "number of threads"),
        counted("slow_down", &Options::slow_down,
                "percent by which every run takes longer, to rehearse a regression"),
        switched("model_info", &Options::model_info, "tell inputs, outputs and operators"),
        switched("help", &Options::help, "tell this and end"),
};

const Flag* find_flag(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    for (const Flag& flag : kFlags) {
        if (name == flag.name)
            return &flag;
    }
    return nullptr;
}

int parse_number(const std::string& name, const std::string& value) {
    char* end = nullptr;
    const long number = std::strtol(value.c_str(), &end, 10);
    const bool whole = !value.empty() && *end == '\0';
    SAMPLE_CHECK(
            whole && number >= 0 && number <= INT_MAX,
            "illegal value '%s' specified for int32 flag '%s'", value.c_str(), name.c_str());
    return static_cast<int>(number);
}

bool parse_switch(const std::string& name, const std::string& value) {
    const bool yes = value == "true" || value == "1", no = value == "false" || value == "0";
    SAMPLE_CHECK(
            yes || no, "illegal value '%s' specified for bool flag '%s'", value.c_str(),
            name.c_str());
    return yes;
}

class Parser {
public:
    Parser(int argc, char** argv) : m_words(argv + 1, argv + argc) {}

    Options options() {
        while (m_at < m_words.size()) {
            const std::string& word = m_words[m_at++];
            if (word.size() > 1 && word[0] == '-')
                flag(word.substr(word[1] == '-' ? 2 : 1));
            else
                positional(word);
        }
        return m_options;
    }

private:
    void positional(const std::string& word) {
        SAMPLE_CHECK(m_options.model.empty(), "more than one model: %s", word.c_str());
        m_options.model = word;
    }

    void flag(const std::string& word) {
        const size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const bool has_value = equals != word.npos;
        if (const Flag* flag = find_flag(name)) {
            set(*flag, name, has_value, has_value ? word.substr(equals + 1) : "");
            return;
        }
        const Flag* negated = name.compare(0, 2, "no") == 0 ? find_flag(name.substr(2)) : nullptr;
        SAMPLE_CHECK(
                negated && negated->on && !has_value, "unknown command line flag '%s'",
                name.c_str());
        m_options.*negated->on = false;
    }

    void set(const Flag& flag, const std::string& name, bool has_value, std::string value) {
        if (flag.on) {
            m_options.*flag.on = !has_value || parse_switch(name, value);
            return;
        }
        if (!has_value) {
            SAMPLE_CHECK(
                    m_at < m_words.size(), "flag '--%s' is missing its argument", name.c_str());
            value = m_words[m_at++];
        }
        if (flag.number)
            m_options.*flag.number = parse_number(name, value);
        else
            m_options.*flag.words = value;
    }

    const std::vector<std::string> m_words;
    size_t m_at = 0;
    Options m_options;
};

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options = Parser(argc, argv).options();
    SAMPLE_CHECK(
            options.multithread >= 1 && options.multithread <= 64,
            "illegal value '%d' specified for int32 flag 'multithread'", options.multithread);
    SAMPLE_CHECK(options.help || !options.model.empty(), "which model? Try --help");
    return options;
}

std::string describe_options() {
    std::string all = "load_and_run MODEL [FLAGS]\n";
    for (const Flag& flag : kFlags)
        all += text("  --%-21s %s\n", flag.name, flag.meaning);
    return all;
}

}  // namespace sample
