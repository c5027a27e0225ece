import BatonModel
package import BatonWire

/// The coordinators that a command may ask. They share a store, so each of them answers for the whole fleet: the first
/// one that answers is asked.
///
/// Another one is tried only before the command has begun at the one before, so no call has two effects. A command that
/// loses its connection later ends with the error, or begins again as a whole if it can do so without harm.
package struct CoordinatorChoice: Sendable {
  private let addresses: [HostPort]

  /// - Parameter addresses: at least one.
  package init(_ addresses: [HostPort]) { self.addresses = addresses }

  /// Calls `body` with one address after the other until one has begun. The errors of a single
  /// address are thrown as they are.
  /// - Parameter body: gets an address, and whether it is the only one.
  /// - Throws: `CoordinatorUnreachable`, which names each address and why it did not answer; every other error of
  ///   `body`.
  package func run<Result>(_ body: (HostPort, Bool) async throws -> Result) async throws -> Result {
    if addresses.count == 1 { return try await body(addresses[0], true) }
    var reasons: [String] = []
    var isNotPermitted = true
    for address in addresses {
      do {
        return try await body(address, false)
      } catch let error as Begun {
        throw error.cause
      } catch let error as CoordinatorUnreachable {
        // Most messages name the address themselves.
        reasons.append(error.message.contains("\(address)") ? error.message : "\(address): \(error.message)")
        isNotPermitted = isNotPermitted && error.isNotPermitted
      } catch let error as OperatorError where error.unavailability != nil {
        reasons.append("\(address): \(error.unavailability ?? "")")
        isNotPermitted = false
      }
    }
    throw CoordinatorUnreachable(
      "none of the \(addresses.count) coordinators answers: " + reasons.joined(separator: "; "),
      isNotPermitted: isNotPermitted)
  }

  /// An error of a command that has begun at a coordinator. No other one is tried.
  private struct Begun: Error { var cause: any Error }

  /// Calls `body` if the coordinator answers and reaches its store; otherwise throws an error after which `run` tries
  /// the next address. A single coordinator is not asked first.
  package static func begin<Result>(
    at api: any OperatorAPI, isOnly: Bool, _ body: (any OperatorAPI) async throws -> Result
  ) async throws -> Result {
    if isOnly { return try await body(api) }
    do {
      _ = try await api.coordinators()
    } catch let error as CoordinatorUnreachable {
      throw error
    } catch let error as OperatorError where error.unavailability != nil {
      throw error
    } catch {
      // It answers, if only that the caller may not ask that, or that it is of an earlier version.
    }
    do { return try await body(api) } catch { throw Begun(cause: error) }
  }
}

extension OperatorError {
  /// Why the coordinator can do nothing at present: its store is out of reach, or it shuts down. Otherwise nil.
  fileprivate var unavailability: String? {
    if case .refused(.unavailable(let why)) = self { why } else { nil }
  }
}
