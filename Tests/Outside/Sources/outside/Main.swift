import BatonClient
import BatonHandler
import BatonWorker
import BatonWorkerProgram
import Foundation

/// A program outside of Baton's package that uses the products for programs: a whole worker, and with the argument
/// `submit` a client.
@main
enum Outside {
  static func main() async throws {
    if CommandLine.arguments.dropFirst().first == "submit" { return try await submit() }
    var configuration = WorkerConfiguration(name: "outside", dataFolder: NSTemporaryDirectory() + "outside", slots: 1)
    configuration.conditions.labels = ["zone": "garage"]
    configuration.conditions.idle.after = .seconds(60)
    configuration.conditions.network.reachability = ReachabilitySettings(target: "10.0.0.1:443")
    configuration.hours = try LendingHours(["00:00-24:00"])
    configuration.cpuLimit = CPUQuota(percent: 150)
    configuration.sandbox.commands = [PathPattern("/usr/bin/*")].compactMap(\.self)
    configuration.sandbox.required = .strict
    configuration.batchSampling.interval = 10
    var program = WorkerProgram(configuration)
    program.transfers?.quota = 1 << 30
    exit(await program.run { worker in worker.register("com.example.count", handler: count) })
  }

  /// Asks the coordinator, which is not there in the check of this program.
  private static func submit() async throws {
    let client = try JobClient(.ofThisUser(address: "127.0.0.1:1"), patience: .zero)
    do {
      let accepted = try await client.submit("com.example.count", payload: ["numbers": 10])
      for try await request in client.watch(accepted.request) { print(request.state) }
    } catch let error as JobClientError where error.code == .unreachable {
      print("\(error.code): \(error.message)")
    }
  }
}

/// Counts to ten, three numbers in a batch.
@Sendable func count(_ task: JobTask) async throws {
  for try await batch in task.batches(of: Array(1...10), size: 3) { task.update(subtitle: "\(batch)") }
}
