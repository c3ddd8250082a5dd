// A producer and a consumer with JDBC.
//
//     java -cp postgresql.jar Purchases.java produce COUNT
//     java -cp postgresql.jar Purchases.java consume GROUP INSTANCE COUNT

import java.math.BigDecimal;
import java.sql.*;
import java.util.*;

public class Purchases {
    static final String TOPIC = "purchases";

    // The transaction is rolled back.  The next poll returns the same records, or
    // those of the partitions that the member has by then.
    static final Set<String> POLL_AGAIN = Set.of(
        "MK022", // a partition has moved to another member
        "MK101", // another session has polled for this member
        "40001", "40P01", "55P03"); // serialization failure, deadlock, lock_timeout
    static final String JOIN_AGAIN = "MK025"; // the member was removed: a timeout has passed
    static final String STOP = "MK082"; // another process has taken over the instance id

    record Purchase(String customer, BigDecimal amount) {}

    final Connection connection;

    Purchases() throws SQLException {
        Map<String, String> env = System.getenv();
        connection = DriverManager.getConnection(
            String.format("jdbc:postgresql://%s:%s/%s", env.getOrDefault("PGHOST", "localhost"),
                env.getOrDefault("PGPORT", "5432"), env.getOrDefault("PGDATABASE", "postgres")),
            env.get("PGUSER"), env.get("PGPASSWORD"));
        connection.setAutoCommit(false);
    }

    // The first column of the first row
    String query(String sql, Object... arguments) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < arguments.length; i++)
                statement.setObject(i + 1, arguments[i]);
            ResultSet rows = statement.executeQuery();
            rows.next();
            return rows.getString(1);
        }
    }

    void produce(int count) throws SQLException {
        for (int i = 0; i < count; i++) {
            // The row and its event: both or none.
            String customer = "customer " + i % 10;
            String purchase = query(
                "INSERT INTO purchase AS p (customer, amount) VALUES (?, ?) RETURNING to_jsonb(p)",
                customer, i % 7 + 1);
            query("SELECT minikafka.send(?, ?::jsonb, key => ?)", TOPIC, purchase, customer);
            connection.commit();
        }
    }

    String join(String group, String instance) throws SQLException {
        String member = query("SELECT minikafka.join_group(?, ?, instance_id => ?)",
            group, connection.createArrayOf("text", new String[] {TOPIC}), instance);
        connection.commit();
        return member;
    }

    // Polls, works and commits in one transaction; returns the group's count.
    long doBatch(String group, String member) throws SQLException {
        List<Purchase> records = new ArrayList<>();
        try (PreparedStatement poll = connection.prepareStatement(
                "SELECT key, (value->>'amount')::numeric"
                + " FROM minikafka.poll_json(?, ?, max_records => 20, max_wait => '1s')")) {
            poll.setString(1, group);
            poll.setString(2, member);
            ResultSet rows = poll.executeQuery();
            while (rows.next())
                records.add(new Purchase(rows.getString(1), rows.getBigDecimal(2)));
        }
        // All members take the rows in one order, so that they cannot deadlock.
        records.sort(Comparator.comparing(Purchase::customer));
        try (PreparedStatement count = connection.prepareStatement(
                "INSERT INTO customer_total AS t VALUES (?, ?, 1, ?)"
                + " ON CONFLICT (group_id, customer) DO UPDATE SET"
                + " purchases = t.purchases + 1, amount = t.amount + excluded.amount")) {
            for (Purchase purchase : records) {
                count.setString(1, group);
                count.setString(2, purchase.customer());
                count.setBigDecimal(3, purchase.amount());
                count.executeUpdate();
            }
        }
        query("SELECT count(*) FROM minikafka.commit(?, ?)", group, member);
        String counted = query(
            "SELECT coalesce(sum(purchases), 0) FROM customer_total WHERE group_id = ?", group);
        connection.commit();
        return Long.parseLong(counted);
    }

    void consume(String group, String instance, long count)
            throws SQLException, InterruptedException {
        String member = join(group, instance);
        long counted = 0;
        while (counted < count) {
            try {
                counted = doBatch(group, member);
            } catch (SQLException error) {
                String state = error.getSQLState();
                connection.rollback(); // fails if the connection is lost: a supervisor starts again
                if (JOIN_AGAIN.equals(state)) {
                    member = join(group, instance);
                } else if (STOP.equals(state)) {
                    System.err.println("another process has taken over as " + instance);
                    System.exit(1);
                } else if (!POLL_AGAIN.contains(state)) {
                    System.err.println(error.getMessage());
                    Thread.sleep(1000); // the work has failed
                }
                System.err.println(state + ": goes on");
            }
        }
        query("SELECT minikafka.leave_group(?, ?)", group, member);
        connection.commit();
    }

    public static void main(String[] args) throws Exception {
        Purchases purchases = new Purchases();
        if (args[0].equals("produce"))
            purchases.produce(Integer.parseInt(args[1]));
        else
            purchases.consume(args[1], args[2], Long.parseLong(args[3]));
        purchases.connection.close();
    }
}
