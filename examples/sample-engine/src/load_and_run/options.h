// The command line: flags by MegEngine's names, as far as this engine has what they switch.
#pragma once

#include <string>

namespace sample {

struct Options {
    std::string model;
    int iter = 10, warmup_iter = 1, multithread = 1, slow_down = 0;
    bool fast_run = false, full_run = false;
    std::string fast_run_algo_policy;
    bool enable_nchw44 = false, weight_preprocess = false;
    bool fake_first = false, record_comp_seq = false;
    std::string input, bin_out_dump;
    bool cpu = false, cpu_default = false;
    bool model_info = false, help = false;
};

// `--name value`, `--name=value` or `-name ...`, with - and _ alike in names; `--noname` switches
// off what needs no value. The last of equal flags counts.
Options parse_options(int argc, char** argv);

// One line per flag.
std::string describe_options();

}  // namespace sample
