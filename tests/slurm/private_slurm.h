// A real Slurm of one machine for tests: tests/slurm/private_slurm.sh as a child. Nothing of it
// outlives this object, nor the test.
#pragma once

#include <sys/types.h>

#include <string>

namespace mlc::slurm {

class PrivateSlurm {
 public:
  PrivateSlurm(std::string folder, int nodes);
  ~PrivateSlurm();
  PrivateSlurm(const PrivateSlurm&) = delete;
  PrivateSlurm& operator=(const PrivateSlurm&) = delete;

  // Empty if it runs, else why it cannot on this machine.
  const std::string& trouble() const { return trouble_; }
  std::string conf() const { return folder_ + "/slurm.conf"; }
  const std::string& folder() const { return folder_; }
  // One line of the script's language, for example "kill-node 1"; true if it says "ok".
  bool Do(const std::string& command);
  // Runs a client command of Slurm by a shell; what it prints.
  std::string Run(const std::string& command) const;

 private:
  std::string ReadLine();

  const std::string folder_;
  std::string trouble_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
};

}  // namespace mlc::slurm
