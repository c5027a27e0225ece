import ArgumentParser
import BatonHost
import BatonModel
import BatonWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The options with which the commands of a host's owner find the worker.
struct OwnerOptions: ParsableArguments, Sendable {
  @Option(help: "The worker's name, if several workers run on this host.")
  var name: String?

  @Option(
    help: ArgumentHelp(
      "The path of the worker's socket: its setting 'ownerSocket' (default: BATON_OWNER_SOCKET, else the socket of the "
        + "worker that is found).",
      valueName: "path"))
  var socket: String?

  /// Sends a request to the worker. An error is printed, and its exit status is thrown.
  func ask(_ request: OwnerRequest) async throws -> OwnerReply {
    try await OwnerFailure.told {
      let client = OwnerClient(path: try await path())
      let (status, warning) = try await client.ask(request)
      return OwnerReply(client: client, status: status, warning: warning)
    }
  }

  private func path() async throws -> String {
    let environment = ProcessInfo.processInfo.environment
    if let path = socket ?? environment["BATON_OWNER_SOCKET"], !path.isEmpty { return path }
    return try await OwnerSocketSearch(environment: environment).path(name: name)
  }
}

/// The worker's answer, and the client to ask it again.
struct OwnerReply: Sendable {
  var client: OwnerClient
  var status: HostStatus
  var warning: String?

  /// How long the pause lasts or how to end it, such as "until 2026-03-01T08:30:00Z (2h)".
  var words: String { status.owner.words(at: status.at.date) }

  func tellWarning() {
    if let warning { StandardError.say("warning: \(warning.onOneLine)") }
  }
}

/// Prints the error of an owner's command and chooses its exit status: 69 and 77 of sysexits(3), or 1 if the worker
/// refused.
enum OwnerFailure {
  /// Runs `body`. An `OwnerClientError` is printed, and its exit status is thrown in its place.
  static func told<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as OwnerClientError {
      StandardError.say("baton-worker: \(error)".onOneLine)
      throw ExitCode(status(of: error.code))
    }
  }

  private static func status(of code: OwnerClientError.Code) -> Int32 {
    switch code {
    case .unreachable: 69
    case .notPermitted: 77
    case .refused: 1
    }
  }
}
