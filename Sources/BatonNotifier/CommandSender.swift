package import BatonBase
package import BatonModel
internal import BatonProcess
internal import BatonTelemetry

/// Runs a program for each notification, with the facts as JSON on its standard input. Exit status 0 accepts.
package struct CommandSender: NotificationSending {
  private let command: [String]
  private let timeout: Duration

  /// How long a program may take.
  package static let usualTimeout = Duration.seconds(30)

  /// - Parameter command: the path of the program, and its arguments. It is run without a shell.
  package init(_ command: [String], timeout: Duration = CommandSender.usualTimeout) {
    (self.command, self.timeout) = (command, timeout)
  }

  package var kind: ReceiverKind { .command }
  package var place: String { command.first ?? "" }

  package func send(_ notification: OutgoingNotification) async -> DeliveryVerdict {
    await SystemCommand.feed(command, Array(notification.content.utf8), within: timeout).verdict
  }
}

/// Sends notifications by mail, through the `sendmail` of the coordinator's machine.
package struct MailSender: NotificationSending {
  private let address: String
  private let sender: String?
  private let sendmail: String
  private let timeout: Duration

  package static let usualSendmail = "/usr/sbin/sendmail"

  /// - Parameters:
  ///   - address: an address that `MailText.isAddress` accepts.
  ///   - sender: the address that the mail comes from; `nil` leaves it to `sendmail`.
  package init(
    to address: String, from sender: String? = nil, sendmail: String = MailSender.usualSendmail,
    timeout: Duration = CommandSender.usualTimeout
  ) {
    (self.address, self.sender, self.sendmail, self.timeout) = (address, sender, sendmail, timeout)
  }

  package var kind: ReceiverKind { .mail }
  package var place: String { address }

  package func send(_ notification: OutgoingNotification) async -> DeliveryVerdict {
    let text = MailText.message(notification.facts, to: address, from: sender)
    // With -t the receiver comes from the message, so that no address is an option. With -i a line with one dot is
    // text.
    return await SystemCommand.feed([sendmail, "-i", "-t"], Array(text.utf8), within: timeout).verdict
  }
}

extension SystemCommand.Answer {
  fileprivate var verdict: DeliveryVerdict {
    switch self {
    case .output(let text): .accepted(text.isEmpty ? "exit status 0" : ExportVerdict.clip(text))
    case .missing: .refused("there is no such program, or it may not be run")
    case .failed(let why): .refused(ExportVerdict.clip(why))
    }
  }
}
