// Which algorithm does a layer: the recorded one, the fastest when asked to measure, or the first
// that fits.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/regions.h"
#include "kernels/algorithm.h"

MIDOUT_DECL(sample_algo_chooser)

namespace sample {

enum class Search { Off, Fast, Full };

// Layer key -> name of the algorithm, kept in a text file: a line "KEY -> NAME" each.
class AlgoCache {
public:
    void read(const std::string& path);
    void write(const std::string& path) const;

    const std::string* find(const std::string& key) const;
    void put(const std::string& key, const std::string& algorithm) { m_names[key] = algorithm; }

private:
    std::map<std::string, std::string> m_names;
};

class AlgoChooser {
public:
    explicit AlgoChooser(Search search) : m_search(search) {}

    AlgoCache& cache() { return m_cache; }

    // `Operator` names the kind of work in the regions.
    template <class Operator, class Problem>
    const Algorithm<Problem>& choose(
            const std::string& key, const Algorithms<Problem>& algorithms, const Problem& problem) {
        const Algorithm<Problem>* chosen = nullptr;
        if (const std::string* name = m_cache.find(key)) {
            MIDOUT_BEGIN(
                    sample_algo_chooser, Operator, midout_iv("AlgoChooser::recorded"_hash)) {
                chosen = by_name(*name, algorithms, problem);
            }
            MIDOUT_END();
            SAMPLE_CHECK(chosen, "algorithm %s cannot do %s", name->c_str(), key.c_str());
        } else if (m_search != Search::Off) {
            MIDOUT_BEGIN(sample_algo_chooser, Operator, midout_iv("AlgoChooser::search"_hash)) {
                chosen = fastest(algorithms, problem);
                m_cache.put(key, chosen->name);
            }
            MIDOUT_END();
        } else {
            MIDOUT_BEGIN(sample_algo_chooser, Operator, midout_iv("AlgoChooser::guess"_hash)) {
                chosen = first_attractive(algorithms, problem);
            }
            MIDOUT_END();
        }
        return *chosen;
    }

private:
    template <class Problem>
    static const Algorithm<Problem>* by_name(
            const std::string& name, const Algorithms<Problem>& all, const Problem& problem) {
        for (const Algorithm<Problem>& algorithm : all) {
            if (name == algorithm.name && algorithm.usable(problem))
                return &algorithm;
        }
        return nullptr;
    }

    // The last algorithm of each table does everything, so there always is one.
    template <class Problem>
    static const Algorithm<Problem>* first_attractive(
            const Algorithms<Problem>& all, const Problem& problem) {
        for (const Algorithm<Problem>& algorithm : all) {
            if (algorithm.usable(problem) && algorithm.attractive(problem))
                return &algorithm;
        }
        return &all.back();
    }

    template <class Problem>
    const Algorithm<Problem>* fastest(const Algorithms<Problem>& all, const Problem& problem) {
        const Algorithm<Problem>* best = nullptr;
        double best_ms = std::numeric_limits<double>::max();
        for (const Algorithm<Problem>& algorithm : all) {
            if (!algorithm.usable(problem) || (algorithm.slow && m_search != Search::Full))
                continue;
            algorithm.run(problem);  // brings caches to temperature
            const Clock clock;
            algorithm.run(problem);
            if (!best || clock.elapsed_ms() < best_ms) {
                best = &algorithm;
                best_ms = clock.elapsed_ms();
            }
        }
        return best;
    }

    const Search m_search;
    AlgoCache m_cache;
};

}  // namespace sample
