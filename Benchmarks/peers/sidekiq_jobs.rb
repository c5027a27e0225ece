# The jobs of peer_sidekiq.py. REDIS_URL says where Redis is.
#   ruby sidekiq_jobs.rb submit CLASS N   submits jobs, and prints the seconds that it takes
#   ruby sidekiq_jobs.rb start N          prints the median time from submission to start in milliseconds
require "sidekiq"
require "socket"
# It writes two lines for each job otherwise.
Sidekiq.logger.level = Logger::WARN
SENDER = UDPSocket.new

class Noop
  include Sidekiq::Worker
  def perform(number); end
end

class Command
  include Sidekiq::Worker
  def perform(number)
    Process.wait(Process.spawn("/bin/true"))
  end
end

class Stamp
  include Sidekiq::Worker
  def perform(port)
    SENDER.send("x", 0, "127.0.0.1", port)
  end
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def submit(job, jobs)
  begun = now
  (0...jobs).each_slice(1000) { |slice| Sidekiq::Client.push_bulk("class" => job, "args" => slice.map { |n| [n] }) }
  now - begun
end

def median_start(jobs)
  stamps = UDPSocket.new
  stamps.bind("127.0.0.1", 0)
  times = (1..jobs).map do
    begun = now
    Stamp.perform_async(stamps.addr[1])
    stamps.recvfrom(16)
    time = now - begun
    sleep 0.003
    time
  end
  times.sort[jobs / 2] * 1000
end

if $PROGRAM_NAME == __FILE__
  case ARGV[0]
  when "submit" then puts submit(Object.const_get(ARGV[1]), ARGV[2].to_i)
  when "start" then puts median_start(ARGV[1].to_i)
  end
end
