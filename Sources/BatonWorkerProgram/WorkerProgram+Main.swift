internal import ArgumentParser
internal import BatonBase
internal import BatonModel
internal import BatonProcess
internal import BatonWire
public import BatonWorker
public import ServiceLifecycle

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension WorkerProgram {
  /// Runs this program's process as a worker with the options of `baton-worker run`, and ends it. It is the whole
  /// `main` of a program.
  /// - Parameters:
  ///   - services: services that the handlers need, such as a pool of connections to a database. They run beside the
  ///     worker in its process: they start before it, and end after it.
  ///   - register: registers the handlers. It is called in the worker's process only; if it throws, the program ends
  ///     with the status 78.
  public static func main(
    beside services: [any Service] = [], _ register: @escaping @Sendable (Worker) async throws -> Void
  ) async -> Never {
    let environment = ProcessInfo.processInfo.environment
    // Reading the settings reads the host's identity.
    ProcessPrivacy.hide(environment: environment)
    let options: WorkerOptions
    do {
      options = try ProgramCommand.parse().options
    } catch {
      ProgramCommand.exit(withError: error)
    }
    do {
      exit(await (try WorkerProgram(options, environment: environment)).run(beside: services, register))
    } catch {
      StandardError.say("\(ProgramName.own): \(error)")
      exit(64)
    }
  }
}

/// The command line of a program that calls `WorkerProgram.main`.
private struct ProgramCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: ProgramName.own,
    abstract: "Runs launches that a coordinator assigns to this host, with handlers of its own.",
    discussion: """
      Settings come from flags, else from the environment (BATON_SLOTS), else from worker.yaml. The host's owner talks \
      to this worker with 'baton-worker pause', 'resume' and 'status'.
      """,
    version: BatonVersion.current)

  @OptionGroup var options: WorkerOptions
}

/// The name of the running program, for what it says to people.
enum ProgramName {
  static let own = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "baton-worker"
}
